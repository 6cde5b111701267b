/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a review sums up: by the shipped patterns, and nothing that would do something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/names/caches.h"
#include "policy/names/steering.h"
#include "workspace/choice.h"

static void shipped(struct tc_strv *ret)
{
    for (size_t i = 0; tc_caches_shipped[i]; i++)
        assert_true(tc_strv_add(ret, tc_caches_shipped[i]));
}

static void cache_names_match_the_shipped_patterns(void **state)
{
    static const struct {
        const char *name, *cache;
    } rows[] = {
        {"__pycache__", "__pycache__"},
        {"a/b/__pycache__/m.cpython-311.pyc", "a/b/__pycache__"},
        {"old.pyc", "old.pyc"},
        {"a/old.pyc/x/y", "a/old.pyc"},
        {".pytest_cache/v/cache/lastfailed", ".pytest_cache"},
        {"web/node_modules/.cache/x/0.json", "web/node_modules/.cache"},
        {"node_modules/.cache", "node_modules/.cache"},
        {"node_modules", ""},
        {"node_modules/x/.cache", ""},
        {".cache/node_modules", ""},
        {"__pycache__x/a.py", ""},
        {"x__pycache__/a.py", ""},
        {"a.pyc.py", ""},
        {"pyc", ""},
        {".pyc/x", ".pyc"},
        {"", ""},
    };
    _autostrv_ struct tc_strv patterns = {0};
    shipped(&patterns);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        size_t length = tc_cache_name(&patterns, rows[i].name);
        assert_int_equal(length, strlen(rows[i].cache));
        assert_memory_equal(rows[i].name, rows[i].cache, length);
    }
}

static void shipped_patterns_never_steer(void **state)
{
    for (size_t i = 0; tc_caches_shipped[i]; i++) {
        assert_true(tc_steering_row(tc_caches_shipped[i]));
        assert_int_equal(tc_steers(NULL, "", tc_caches_shipped[i]), TC_STEERS_NOT);
    }
}

static void only_plain_files_count_as_cache(void **state)
{
    static const struct {
        const char *kind;
        unsigned mode, was;
        bool cache;
    } rows[] = {
        {"added", S_IFREG | 0644, 0, true},
        {"added", S_IFREG | 0444, 0, true},
        {"added", S_IFDIR | 0755, 0, true},
        {"modified", S_IFREG | 0644, S_IFREG | 0600, true},
        {"modified", S_IFDIR | 0700, S_IFDIR | 0755, true},
        {"added", S_IFREG | 0744, 0, false},
        {"added", S_IFREG | 0654, 0, false},
        {"added", S_IFREG | 0645, 0, false},
        {"added", S_IFREG | 04644, 0, false},
        {"added", S_IFREG | 02644, 0, false},
        {"added", S_IFREG | 01644, 0, false},
        {"added", S_IFLNK | 0777, 0, false},
        {"added", S_IFIFO | 0644, 0, false},
        {"added", S_IFSOCK | 0644, 0, false},
        {"added", S_IFREG | 0644, S_IFREG | 0644, false},
        {"modified", S_IFREG | 0644, S_IFDIR | 0755, false},
        {"modified", S_IFDIR | 0755, S_IFREG | 0644, false},
        {"modified", S_IFREG | 0644, S_IFLNK | 0777, false},
        {"modified", S_IFREG | 0755, S_IFREG | 0644, false},
        {"modified", S_IFREG | 0644, 0, false},
        {"deleted", S_IFREG | 0644, S_IFREG | 0644, false},
        {"deleted", 0, S_IFREG | 0644, false},
    };
    _autostrv_ struct tc_strv patterns = {0};
    shipped(&patterns);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_cache_change change = {.relative = "__pycache__/a",
                                         .kind = rows[i].kind,
                                         .mode = rows[i].mode,
                                         .was_mode = rows[i].was};
        assert_int_equal(tc_cache_of(&patterns, &change) != 0, rows[i].cache);
        change.relative = "a.py";
        assert_int_equal(tc_cache_of(&patterns, &change), 0);
    }
}

static void empty_patterns_match_nothing(void **state)
{
    const struct tc_strv none = {0};
    assert_int_equal(tc_cache_name(&none, "__pycache__/x.pyc"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_names_match_the_shipped_patterns),
        cmocka_unit_test(shipped_patterns_never_steer),
        cmocka_unit_test(only_plain_files_count_as_cache),
        cmocka_unit_test(empty_patterns_match_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
