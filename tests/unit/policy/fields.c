/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each field of a grant changes what is digested, compared and explained, but for those that are
 * named here and in their rows; and no flag of a call raises a limit. */
#include "test.h"

#include "../fields.h"
#include "policy/compare.h"
#include "policy/explain.h"
#include "policy/keys.h"
#include "policy/resolve.h"

/* Where something was said, and what an entry of fs stands for. */
static const char *const undigested[] = {"fs.origin.key",       "fs.origin.line",
                                         "net.origin.key",      "net.origin.line",
                                         "secrets.line",        "sockets.origin.key",
                                         "sockets.origin.line", "setup",
                                         "setup_ready",         NULL};
/* The command's words, which are not of what it may do. */
static const char *const words[] = {"argv", "stdin_bytes", NULL};

static bool among(const char *const *names, const char *name)
{
    while (*names && !tc_streq(*names, name))
        names++;
    return *names;
}

static struct filling fill_grant(struct tc_grant *grant, int other, int64_t value)
{
    *grant = (struct tc_grant){0};
    struct filling f = filled(&tc_grant_fields, grant, other, value);
    assert_int_equal(tc_grant_digest(grant, NULL), 0);
    return f;
}

static void every_field_is_digested(void **state)
{
    _autogrant_ struct tc_grant plain;
    int places = fill_grant(&plain, -1, 0).places;
    for (int i = 0; i < places; i++) {
        _autogrant_ struct tc_grant grant;
        struct filling f = fill_grant(&grant, i, 2);
        bool outside = among(undigested, f.name);
        if (tc_streq(grant.digest, plain.digest) != outside)
            fail_msg("%s: the digest", f.name);
        if (tc_streq(grant.bounds, plain.bounds) != (outside || among(words, f.name)))
            fail_msg("%s: the bounds", f.name);
    }
    assert_string_not_equal(plain.digest, plain.bounds);
}

/* By hand, because their rows are of no kind. */
static void so_is_what_has_no_value(void **state)
{
    static const char *const by_hand[] = {"policy", "digest", "bounds", NULL};
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.x]\n"),
                                        *writes = compile(
                                            "[tool.x]\nfilesystem.writable = [\"/data\"]\n");
    _autogrant_ struct tc_grant one, other;
    size_t n = 0;
    fill_grant(&one, -1, 0);
    fill_grant(&other, -1, 0);
    one.policy = tc_policy_ref(policy);
    other.policy = tc_policy_ref(writes);
    assert_int_equal(tc_grant_digest(&one, NULL) | tc_grant_digest(&other, NULL), 0);
    assert_string_not_equal(one.digest, other.digest);
    assert_string_not_equal(one.bounds, other.bounds);
    for (size_t i = 0; i < tc_grant_fields.count; i++)
        if (tc_grant_fields.rows[i].kind == TC_FIELD_OTHER)
            assert_string_equal(tc_grant_fields.rows[i].name, by_hand[n++]);
    assert_null(by_hand[n]);
}

/* What programs leave in a home makes no other grant. */
static void found_places_are_not_digested(void **state)
{
    _autogrant_ struct tc_grant one, other;
    fill_grant(&one, -1, 0);
    fill_grant(&other, -1, 0);
    struct tc_fs_entry *entry = TC_PUSH(other.fs, other.fs_count);
    assert_non_null(entry);
    *entry = (struct tc_fs_entry){.path = strdup("/c"), .access = TC_ACCESS_DENY, .found = true};
    assert_int_equal(tc_grant_digest(&other, NULL), 0);
    assert_string_equal(one.digest, other.digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_digested),
        cmocka_unit_test(so_is_what_has_no_value),
        cmocka_unit_test(found_places_are_not_digested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
