/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each field of a grant changes what is digested, compared and explained, but for those that are
 * named here and in their rows; and no flag of a call raises a limit. */
#include "test.h"

#include "../fields.h"
#include "policy/compare/compare.h"
#include "policy/explain/explain.h"
#include "policy/model.h"
#include "policy/resolve/resolve.h"

/* Where something was said, and what an entry of fs stands for. */
static const char *const undigested[] = {"system",
                                         "fs.origin.key",
                                         "fs.origin.line",
                                         "net.origin.key",
                                         "net.origin.line",
                                         "upstream.line",
                                         "secrets.line",
                                         "sockets.origin.key",
                                         "sockets.origin.line",
                                         "setup",
                                         "setup_ready",
                                         "located",
                                         "umask",
                                         NULL};
/* The command's words, which are not of what it may do. */
static const char *const words[] = {"argv", "stdin_bytes", NULL};

/* What two grants are not held against each other by: where something was said, what the tool runs
 * and with which variables (the policies say more of it), how paths are looked up, what follows
 * from the rest, and what nothing but a call of its own, or an install, brings. */
static const char *const uncompared[] = {"system",
                                         "tool",
                                         "tier",
                                         "fs.argument",
                                         "fs.bound",
                                         "fs.built_in",
                                         "fs.own",
                                         "fs.found",
                                         "fs.setup",
                                         "fs.origin.key",
                                         "fs.origin.line",
                                         "net.origin.key",
                                         "net.origin.line",
                                         "net.secret",
                                         "upstream.line",
                                         "secrets.line",
                                         "sockets.access",
                                         "sockets.optional",
                                         "sockets.argument",
                                         "sockets.bound",
                                         "sockets.built_in",
                                         "sockets.own",
                                         "sockets.found",
                                         "sockets.setup",
                                         "sockets.origin.key",
                                         "sockets.origin.line",
                                         "argv",
                                         "stdin_bytes",
                                         "env",
                                         "steering.listed",
                                         "caller_cwd",
                                         "tool_writable",
                                         "clauses",
                                         "setup",
                                         "setup_ready",
                                         "located",
                                         "umask",
                                         NULL};
/* What the host has no use for: how paths are looked up, input that is the model's, and what
 * follows from the rest. */
static const char *const untold[] = {"net.secret",
                                     "fs.bound",
                                     "fs.own",
                                     "fs.found",
                                     "fs.setup",
                                     "sockets.access",
                                     "sockets.argument",
                                     "sockets.bound",
                                     "sockets.built_in",
                                     "sockets.own",
                                     "sockets.found",
                                     "sockets.setup",
                                     "stdin_bytes",
                                     "steering.listed",
                                     "caller_cwd",
                                     "tool_writable",
                                     "limits.disk_set",
                                     "located",
                                     "umask",
                                     NULL};

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
    /* that others of its fields mean anything */
    grant->unix_sockets = !tc_streq(f.name, "unix_sockets");
    if (!tc_streq(f.name, "commit"))
        grant->commit = TC_COMMIT_NEVER;
    if (!tc_streq(f.name, "system")) {
        free(grant->system);
        grant->system = NULL;
    }
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

static void nothing_by_hand(const struct tc_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->rows[i].kind == TC_FIELD_OTHER)
            fail_msg("%s is of no kind", fields->rows[i].name);
        if (fields->rows[i].of)
            nothing_by_hand(fields->rows[i].of);
    }
}

/* By hand, because their rows are of no kind. */
static void fields_without_a_value_are_digested(void **state)
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
    for (size_t i = 0; i < tc_grant_fields.count; i++) {
        const struct tc_field *row = &tc_grant_fields.rows[i];
        if (row->kind == TC_FIELD_OTHER)
            assert_string_equal(row->name, by_hand[n++]);
        if (row->of)
            nothing_by_hand(row->of);
    }
    assert_null(by_hand[n]);
}

/* The values alone, as another build with other fields might have them, have another digest. */
static void names_are_digested(void **state)
{
    _autogrant_ struct tc_grant grant;
    char values[TC_DIGEST_SIZE], *none = NULL;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    fill_grant(&grant, -1, 0);
    tc_fields_visit(&w, &tc_grant_fields, &grant, TC_FIELD_UNDIGESTED | TC_FIELD_WORDS, 0);
    tc_wire_str(&w, &none);
    tc_digest(w.out.data, w.out.len, values);
    assert_string_not_equal(values, grant.bounds);
    tc_buf_done(&w.out);
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

/* How many differences there are, and whether one of them is more. */
static size_t compared(const struct tc_grant *from, const struct tc_grant *to, bool *ret_more)
{
    _auto_(tc_differences_done) struct tc_differences all = {0};
    tc_compare_grants(&all, from, to);
    assert_false(all.memory);
    for (size_t i = 0; i < all.count; i++)
        *ret_more |= all.items[i].kind == TC_DIFFERENCE_MORE;
    return all.count;
}

/* One of two grants that differ gives more than the other, or cannot be compared with it; and the
 * other less. */
static void every_field_is_compared(void **state)
{
    _autogrant_ struct tc_grant plain;
    int places = fill_grant(&plain, -1, 0).places;
    bool more = false;
    assert_int_equal(compared(&plain, &plain, &more), 0);
    for (int i = 0; i < places; i++) {
        bool told = false, both = false;
        struct filling f;
        for (int64_t value = 0; value <= 2; value += 2) { /* of words not each is more or less */
            _autogrant_ struct tc_grant grant;
            f = fill_grant(&grant, i, value);
            size_t there = compared(&plain, &grant, &told), back = compared(&grant, &plain, &told);
            both |= there && back;
        }
        /* what must be there again says nothing of what is granted */
        if (told == among(uncompared, f.name) || told != (both || tc_streq(f.name, "fs.optional")))
            fail_msg("%s is %scompared", f.name, told ? "half " : "not ");
    }
}

/* Which backend comes first, and lies around the others. */
static void the_order_of_backends_counts(void **state)
{
    for (int layers = 0; layers < 2; layers++) {
        _autogrant_ struct tc_grant one, other;
        bool more = false;
        fill_grant(&one, -1, 0);
        fill_grant(&other, -1, 0);
        struct tc_strv *a = layers ? &one.layers : &one.fallback;
        struct tc_strv *b = layers ? &other.layers : &other.fallback;
        assert_true(tc_strv_add(a, "/b"));
        assert_true(tc_strv_add(b, "/b"));
        char *first = b->items[0];
        b->items[0] = b->items[1];
        b->items[1] = first;
        assert_int_equal(compared(&one, &other, &more), 1);
        assert_true(more);
        assert_int_equal(tc_grant_digest(&one, NULL) | tc_grant_digest(&other, NULL), 0);
        assert_string_not_equal(one.digest, other.digest);
    }
}

/* A setting that is new, and one that is gone: nobody here knows which of the two gives more. */
static void unknown_settings_count_as_more(void **state)
{
    _autogrant_ struct tc_grant one, other;
    fill_grant(&one, -1, 0);
    fill_grant(&other, -1, 0);
    assert_true(tc_strv_add(&other.settings, "wasm.x=1"));
    for (int back = 0; back < 2; back++) {
        bool more = false;
        assert_int_equal(compared(back ? &other : &one, back ? &one : &other, &more), 1);
        assert_true(more);
    }
}

/* As a grant of the tool x, whose policy has an install phase. Owned. */
static char *explained(struct tc_grant *grant, bool other_tool)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nsetup = { command = [\"i\"], into = \"/opt/x\" }\n");
    char *text = NULL;
    free(grant->tool);
    assert_non_null(grant->tool = strdup(other_tool ? "y" : "x"));
    (void)snprintf(grant->digest, sizeof(grant->digest), "-");
    assert_int_equal(tc_policy_explain(policy, grant, NULL, NULL, &text, NULL), 0);
    return text;
}

static void every_field_is_explained(void **state)
{
    _autogrant_ struct tc_grant plain;
    int places = fill_grant(&plain, -1, 0).places;
    _autofree_ char *before = explained(&plain, false);
    for (int i = 0; i < places; i++) {
        _autogrant_ struct tc_grant grant;
        struct filling f = fill_grant(&grant, i, 2);
        _autofree_ char *after = explained(&grant, tc_streq(f.name, "tool"));
        if (tc_streq(before, after) != among(untold, f.name))
            fail_msg("%s is %sexplained", f.name, among(untold, f.name) ? "" : "not ");
    }
}

/* A policy that says one limit, and nothing else. */
static struct toolcage_policy *limited(const struct tc_field *row, int64_t number)
{
    char text[128], value[TC_VALUE_TEXT_SIZE];
    bool quoted = row->unit == TC_UNIT_SIZE || row->unit == TC_UNIT_DURATION;
    tc_value_write(row->unit, number, value);
    (void)snprintf(text, sizeof(text), "[tool.x]\n%s = %s%s%s\n", row->word, quoted ? "\"" : "",
                   value, quoted ? "\"" : "");
    return compile(text);
}

/* The key gives the limit, and what stands beside it, and no other. */
static void limits_are_set_by_their_key_only(void **state)
{
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        const struct tc_key *key =
            row->word ? tc_key_find(tc_keys, TC_SCOPE_TOOL, row->word) : NULL;
        int64_t number = key ? 4 * (key->min ? key->min : 1) : 0;
        _autogrant_ struct tc_grant grant = {0};
        if (!key)
            continue;
        assert_int_equal(key->id, row->key);
        assert_int_equal(key->unit, row->unit);
        _autopolicy_ struct toolcage_policy *policy = limited(row, number);
        granted(policy, (struct ask){.tool = "x", .command = "t"}, &grant);
        assert_int_equal(tc_field_number(row, &grant.limits), number);
        for (size_t k = 0; k < tc_limits_fields.count; k++) {
            const struct tc_field *other = &tc_limits_fields.rows[k];
            if (other->key != row->key &&
                tc_field_number(other, &grant.limits) != tc_field_number(other, &tc_limits_default))
                fail_msg("%s changes %s", row->word, other->name);
        }
        assert_true(key->id != TC_KEY_MEMORY || !grant.limits.memory_any);
        assert_true(key->id != TC_KEY_DISK ||
                    (grant.limits.disk_set && grant.limits.inodes == TC_INODES_PER_DISK(number)));
    }
    _autopolicy_ struct toolcage_policy *kills = compile("[tool.x]\noutput.over = \"kill\"\n");
    _autogrant_ struct tc_grant grant = {0};
    granted(kills, (struct ask){.tool = "x", .command = "t"}, &grant);
    assert_true(grant.limits.output_kill);
}

/* Where 0 is no limit, it is more than any; elsewhere it is the least. */
static void unset_is_more_where_it_can_be(void **state)
{
    static const char *const unset[] = {"timeout",  "cpu_time",  "cpus",
                                        "transfer", "bandwidth", NULL};
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        struct tc_grant five = {0}, none = {0};
        _auto_(tc_differences_done) struct tc_differences all = {0};
        if (!row->word)
            continue;
        assert_true(tc_field_set(row, &five.limits, 5));
        tc_compare_grants(&all, &five, &none);
        assert_int_equal(all.count, 1);
        assert_int_equal(all.items[0].kind,
                         among(unset, row->word) ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS);
        assert_int_equal(strstr(all.items[0].text, "is unset") != NULL, among(unset, row->word));
        if (tc_streq(row->word, "inodes")) /* it has no key of its own, whose unit it could have */
            assert_string_equal(all.items[0].text, "files on disk is 0, before 5");
    }
}

/* A flag lowers what the policy says, and never raises it. */
static void no_flag_raises_a_limit(void **state)
{
    static const char *const no_flags[] = {"grace", "inodes", "session_lifetime", NULL};
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        const struct tc_key *key =
            row->word ? tc_key_find(tc_keys, TC_SCOPE_TOOL, row->word) : NULL;
        int64_t number = 4 * (key && key->min ? key->min : 1);
        char less[TC_VALUE_TEXT_SIZE], more[TC_VALUE_TEXT_SIZE], subject[64];
        _autogrant_ struct tc_grant grant = {0};
        if (!row->word || among(no_flags, row->word)) {
            assert_true(tc_policy_check_narrowing(row->name, "1", NULL) == TOOLCAGE_EUSAGE);
            continue;
        }
        _autopolicy_ struct toolcage_policy *policy = limited(row, number);
        tc_value_write(row->unit, number / 2, less);
        tc_value_write(row->unit, number * 2, more);
        (void)snprintf(subject, sizeof(subject), "tool.x.%s", row->word);
        granted(policy, (struct ask){.tool = "x", .command = "t", .narrow = {row->word, less}},
                &grant);
        assert_int_equal(tc_field_number(row, &grant.limits), number / 2);
        refused(policy, (struct ask){.tool = "x", .command = "t", .narrow = {row->word, more}},
                TOOLCAGE_EDENIED, subject, 2, "more than the policy grants");
    }
}

/* Of what a tool did, no flag lets more reach the host. */
static void no_flag_holds_back_less(void **state)
{
    static const char *const words_of_commit[] = {"always", "on_success", "ask", "never"};
    for (size_t said = 0; said < TC_COUNT(words_of_commit); said++) {
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "[tool.x]\nworkspace = { mode = \"copy\", commit = \"%s\" }\n",
                       words_of_commit[said]);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        for (size_t asked = 0; asked < TC_COUNT(words_of_commit); asked++) {
            struct ask ask = {
                .tool = "x", .command = "t", .narrow = {"commit", words_of_commit[asked]}};
            _autogrant_ struct tc_grant grant = {0};
            if (asked < said)
                refused(policy, ask, TOOLCAGE_EDENIED, "tool.x.workspace.commit", 2,
                        "more than the policy grants");
            else
                granted(policy, ask, &grant);
        }
    }
}

/* What the keys say of themselves is what stands where nobody says one. */
static void defaults_are_as_documented(void **state)
{
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        const struct tc_key *key =
            row->word ? tc_key_find(tc_keys, TC_SCOPE_TOOL, row->word) : NULL;
        char text[TC_VALUE_TEXT_SIZE] = "unset";
        int64_t value = tc_field_number(row, &tc_limits_default);
        if (value)
            tc_value_write(row->unit, value, text);
        if (key && !strstr(key->fallback, text))
            fail_msg("%s: %s is not %s", row->name, text, key->fallback);
    }
    assert_int_equal(tc_limits_default.inodes, TC_INODES_PER_DISK(tc_limits_default.disk));
    assert_true(tc_limits_default.memory_any && !tc_limits_default.disk_set);
    assert_false(tc_limits_default.output_kill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_digested),
        cmocka_unit_test(fields_without_a_value_are_digested),
        cmocka_unit_test(names_are_digested),
        cmocka_unit_test(found_places_are_not_digested),
        cmocka_unit_test(every_field_is_compared),
        cmocka_unit_test(the_order_of_backends_counts),
        cmocka_unit_test(unknown_settings_count_as_more),
        cmocka_unit_test(every_field_is_explained),
        cmocka_unit_test(limits_are_set_by_their_key_only),
        cmocka_unit_test(unset_is_more_where_it_can_be),
        cmocka_unit_test(no_flag_raises_a_limit),
        cmocka_unit_test(no_flag_holds_back_less),
        cmocka_unit_test(defaults_are_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
