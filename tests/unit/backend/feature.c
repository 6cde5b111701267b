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

#include "backend/backend.h"
#include "base/fd.h"
#include "test.h"

#define TEXT(literal) ((char[]){literal}) /* fields of a grant are not const */

static const char *const names[TC_FEATURE_COUNT] = {
#define NAME(id, ...) #id,
    TC_FEATURE_MAP(NAME)
#undef NAME
};

/* The row of this feature: `| name: … | yes | no | yes |`. */
static void find_row(const char *text, const char *name, char *cells[6])
{
    size_t n = strlen(name);
    for (const char *at = strstr(text, "| "); at; at = strstr(at + 1, "\n| ")) {
        at += *at == '\n';
        if (strncasecmp(at + 2, name, n) || at[2 + n] != ':')
            continue;
        assert_int_equal(sscanf(at,
                                "|%*[^|]| %m[a-z] | %m[a-z] | %m[a-z] | "
                                "%m[a-z] | %m[a-z] | %m[a-z] |\n",
                                &cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[5]),
                         6);
        return;
    }
    fail_msg("no row for %s", name);
}

static void the_document_says_the_same(void **state)
{
    static const char *const backends[] = {"process", "oci",        "podman",
                                           "docker",  "containerd", "gvisor"};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    assert_int_equal(tc_read_file(AT_FDCWD, TEST_DOCS "/backends.md", &text), 0);
    for (size_t f = 0; f < TC_FEATURE_COUNT; f++) {
        char *cells[6] = {NULL};
        find_row(text.data, names[f], cells);
        for (size_t b = 0; b < TC_COUNT(backends); b++) {
            bool has = tc_front_find(backends[b])->has & (tc_features)1 << f;
            if (strcmp(cells[b], has ? "yes" : "no") != 0)
                fail_msg("%s: %s %s", names[f], backends[b], has ? "has it" : "has it not");
            free(cells[b]);
        }
    }
}

static void nothing_is_wanted_unasked(void **state)
{
    struct tc_grant grant = {.overlay_or_copy = true, .workspace = TC_WORKSPACE_OVERLAY};
    assert_int_equal(tc_grant_features(&grant), 0);
}

static void each_wish_is_found(void **state)
{
    char *one[] = {TEXT("ptrace"), NULL};
    struct tc_grant wishes[TC_FEATURE_COUNT] = {
        [TC_FEATURE_IMAGE] = {.image = TEXT("/image")},
        [TC_FEATURE_SOCKETS] = {.unix_sockets = true},
        [TC_FEATURE_PATHS] = {.denials = TC_DENIALS_PATHS},
        [TC_FEATURE_SYSCALLS] = {.syscalls_allow = {one, 1}},
        [TC_FEATURE_COPY] = {.workspace = TC_WORKSPACE_COPY},
        [TC_FEATURE_OVERLAY] = {.workspace = TC_WORKSPACE_OVERLAY},
        [TC_FEATURE_DETERMINISTIC] = {.deterministic = true},
    };
    for (size_t i = 0; i <= TC_FEATURE_DETERMINISTIC; i++)
        assert_int_equal(tc_grant_features(&wishes[i]), (tc_features)1 << i);
    wishes[TC_FEATURE_PATHS].denials = TC_DENIALS_ACCESSES;
    assert_int_equal(tc_grant_features(&wishes[TC_FEATURE_PATHS]), TC_FEATURE_BIT(PATHS));
}

/* A backend that has nothing lacks whatever is wanted, by the grant or by the call. */
static void what_is_not_there_is_lacking(void **state)
{
    static const struct tc_front bare = {.name = "bare"};
    struct tc_grant grant = {.image = TEXT("/image"), .clauses = 5};
    assert_int_equal(tc_front_lacks(&bare, &grant, TC_FEATURE_BIT(SESSION)),
                     TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SESSION));
    assert_int_equal(tc_front_missing(&bare, &grant), 5);
    assert_int_equal(tc_front_missing(tc_front_find("fake"), &grant), 0);
    assert_int_equal(tc_front_lacks(tc_front_find("fake"), &grant, TC_FEATURE_BIT(INSTALL)),
                     TC_FEATURE_BIT(INSTALL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_the_same),
        cmocka_unit_test(nothing_is_wanted_unasked),
        cmocka_unit_test(each_wish_is_found),
        cmocka_unit_test(what_is_not_there_is_lacking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
