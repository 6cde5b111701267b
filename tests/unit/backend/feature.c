/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What backends can do beside walls: the document says the same as their data, and each wish of a
 * grant is found. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "plan/backend.h"
#include "policy/backends.h"
#include "policy/endpoint.h"
#include "policy/image_ref.h"
#include "test.h"

#define TEXT(literal) ((char[]){literal}) /* fields of a grant are not const */

static const char *const names[TC_FEATURE_COUNT] = {
#define NAME(id, ...) #id,
    TC_FEATURE_MAP(NAME)
#undef NAME
};

/* `| name: … | yes | no |`, in the order of the planners. */
static void the_row_is_true(const char *text, const char *name, tc_features bit)
{
    size_t n = strlen(name);
    const struct tc_planner *planner;
    _autobuf_ struct tc_buf cells = TC_BUF_INIT;
    for (size_t i = 0; (planner = tc_planner_at(i)); i++)
        if (!(planner->flags & TC_BACKEND_NO_BOUNDARY))
            tc_buf_addf(&cells, " %s |", planner->has & bit ? "yes" : "no");
    for (const char *at = text; (at = strstr(at, "\n| ")); at++) {
        size_t length = strcspn(at + 1, "\n");
        if (strncasecmp(at + 3, name, n) != 0 || at[3 + n] != ':')
            continue;
        if (length < cells.len || strncmp(at + 1 + length - cells.len, cells.data, cells.len) != 0)
            fail_msg("%s:%s", name, cells.data);
        return;
    }
    fail_msg("no row for %s", name);
}

static void the_document_says_the_same(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    assert_int_equal(tc_read_file(AT_FDCWD, TEST_DOCS "/backends.md", &text), 0);
    for (size_t f = 0; f < TC_FEATURE_COUNT; f++)
        the_row_is_true(text.data, names[f], (tc_features)1 << f);
}

static void empty_grant_wants_no_feature(void **state)
{
    struct tc_grant grant = {0};
    assert_int_equal(tc_grant_features(&grant), TC_FEATURE_BIT(HOST));
    grant.image = TEXT(TC_IMAGE_SYSTEM);
    assert_int_equal(tc_grant_features(&grant), 0);
}

#define WISH(id, ...)                                                     \
    {                                                                     \
        {.image = TEXT(TC_IMAGE_SYSTEM), __VA_ARGS__}, TC_FEATURE_BIT(id) \
    }

static void every_wanted_feature_is_derived_from_the_grant(void **state)
{
    char *one[] = {TEXT("ptrace"), NULL}, *bytes[] = {TEXT("\xff"), NULL};
    char *contained[] = {TEXT("qemu"), TEXT("oci"), NULL};
    char *module[] = {TEXT("qemu"), TEXT("wasm"), NULL};
    struct tc_fs_entry written = {.access = TC_ACCESS_WRITE, .path = TEXT("/srv")};
    struct tc_net_entry near = {.port = TC_PORT_DEFAULT}, any = {.port = TC_PORT_ANY};
    const struct {
        struct tc_grant grant;
        tc_features wanted;
    } wishes[] = {
        {{.image = TEXT("/image")}, TC_FEATURE_BIT(IMAGE)},
        {{.image = NULL}, TC_FEATURE_BIT(HOST)},
        {{.layers = {module, 2}, .warm = {one, 1}}, TC_FEATURE_BIT(MODULE_SYSTEM)},
        {{.layers = {module, 2}, .image = TEXT(TC_IMAGE_SYSTEM)}, TC_FEATURE_BIT(MODULE_SYSTEM)},
        WISH(SOCKETS, .unix_sockets = true),
        WISH(PATHS, .denials = TC_DENIALS_PATHS),
        WISH(PATHS, .denials = TC_DENIALS_ACCESSES),
        WISH(SYSCALLS, .syscalls_allow = {one, 1}),
        WISH(COPY, .workspace = TC_WORKSPACE_COPY),
        WISH(OVERLAY, .workspace = TC_WORKSPACE_OVERLAY),
        WISH(DETERMINISTIC, .deterministic = true),
        WISH(BYTES, .argv = {bytes, 1}),
        WISH(BIND, .fs = &written, .fs_count = 1),
        {{.layers = {module, 2}, .net = &near, .net_count = 1}, TC_FEATURE_BIT(INNER_NET)},
        {{.layers = {contained, 2}, .image = TEXT(TC_IMAGE_SYSTEM), .net = &near, .net_count = 1}},
        WISH(PORTS, .net = &any, .net_count = 1),
    };
    tc_features all = 0;
    for (size_t i = 0; i < TC_COUNT(wishes); i++) {
        assert_int_equal(tc_grant_features(&wishes[i].grant), wishes[i].wanted);
        all |= wishes[i].wanted;
    }
    /* the others are a call's */
    assert_int_equal(all, TC_FEATURE_BIT(TERMINAL) - 1);
}

/* The key that asks for it is what a refusal is about. */
static void refused_features_name_their_policy_key(void **state)
{
    for (int f = 0; f < TC_FEATURE_COUNT; f++) {
        const struct tc_feature_row *row = &tc_feature_rows[f];
        const char *stage = f == TC_FEATURE_SESSION || f == TC_FEATURE_LIVE ? "session"
                            : f == TC_FEATURE_INSTALL                       ? "setup"
                                                                            : "route";
        bool asked = f != TC_FEATURE_BYTES && f < TC_FEATURE_TERMINAL;
        assert_string_equal(row->stage, stage);
        assert_int_equal(row->key != NULL, asked);
        if (asked)
            assert_string_equal(row->subject, row->key);
        if (asked)
            assert_non_null(tc_key_find(tc_keys, TC_SCOPE_TOOL, row->key));
        assert_true(strlen(row->text) > 5 && strlen(row->hint) > 10);
    }
    assert_string_equal(tc_feature_rows[TC_FEATURE_BYTES].subject, "command");
    assert_string_equal(tc_feature_rows[TC_FEATURE_TERMINAL].subject, "tty.none");
    assert_string_equal(tc_feature_rows[TC_FEATURE_SESSION].subject, "session");
    assert_string_equal(tc_feature_rows[TC_FEATURE_INSTALL].subject, "setup");
}

/* All that has walls has each of them, or no network at all. */
static void isolating_backends_provide_every_clause(void **state)
{
    static const char *const backends[] = {
        "process", "oci",      "podman", "docker",      "containerd", "gvisor",
        "wasm",    "wasmedge", "qemu",   "firecracker", "kata",       "not-a-security-boundary"};
    const tc_clauses net = TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) |
                           TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT) |
                           TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET);
    const struct tc_planner *planner;
    size_t i;
    for (i = 0; (planner = tc_planner_at(i)); i++) {
        bool apart = i == 6 || i == 7 || i == 10;
        assert_true(i < TC_COUNT(backends));
        assert_string_equal(planner->name, backends[i]);
        assert_non_null(tc_backend_find(planner->name));
        if (!(planner->flags & TC_BACKEND_NO_BOUNDARY))
            assert_int_equal(~planner->provides, apart ? net : 0);
        assert_int_equal(planner->flags & TC_BACKEND_NO_BOUNDARY,
                         i < 11 ? 0 : TC_BACKEND_NO_BOUNDARY);
    }
    assert_int_equal(i, TC_COUNT(backends));
}

/* A backend that has nothing lacks whatever is wanted, by the grant or by the call. */
static void bare_backend_lacks_every_wanted_feature(void **state)
{
    static const struct tc_planner bare = {.name = "bare"};
    struct tc_grant grant = {.image = TEXT("/image"), .clauses = 5};
    assert_int_equal(tc_planner_lacks(&bare, &grant, TC_FEATURE_BIT(SESSION)),
                     TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SESSION));
    assert_int_equal(tc_planner_missing(&bare, &grant), 5);
    assert_int_equal(tc_planner_missing(tc_planner_find("not-a-security-boundary"), &grant), 0);
    assert_int_equal(tc_planner_lacks(tc_planner_find("not-a-security-boundary"), &grant,
                                      TC_FEATURE_BIT(INSTALL)),
                     TC_FEATURE_BIT(INSTALL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_the_same),
        cmocka_unit_test(empty_grant_wants_no_feature),
        cmocka_unit_test(every_wanted_feature_is_derived_from_the_grant),
        cmocka_unit_test(refused_features_name_their_policy_key),
        cmocka_unit_test(isolating_backends_provide_every_clause),
        cmocka_unit_test(bare_backend_lacks_every_wanted_feature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
