/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/cleanup.h"
#include "base/path.h"

static void absolute_and_clean(void **state)
{
    static const struct {
        const char *base, *path, *out;
    } rows[] = {
        {"/", "", "/"},
        {"/", ".", "/"},
        {"/", "..", "/"},
        {"/", "../../..", "/"},
        {"/a/b", "", "/a/b"},
        {"/a/b", "c", "/a/b/c"},
        {"/a/b", "../c", "/a/c"},
        {"/a/b", "../../../c", "/c"},
        {"/a/b", "/c", "/c"},
        {"/a", "//b///c//", "/b/c"},
        {"/a", "/b/./c/.", "/b/c"},
        {"/a", "/b/../c", "/c"},
        {"/a", "/b/c/..", "/b"},
        {"/a", "/..b/.../c..", "/..b/.../c.."},
        {"/a/../b//", "x", "/b/x"},
        {"/a", "...", "/a/..."},
        {"/a", "b/../../..", "/"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *out = tc_path_absolute(rows[i].base, rows[i].path);
        assert_string_equal(out, rows[i].out);
    }
}

/* /data must not hold /database: the border is a whole component. */
static void paths_lie_within_whole_components(void **state)
{
    static const struct {
        const char *dir, *path;
        bool yes;
    } rows[] = {
        {"/data", "/data", true},  {"/data", "/data/x", true}, {"/data", "/database", false},
        {"/data", "/dat", false},  {"/data", "/", false},      {"/", "/", true},
        {"/", "/anything", true},  {"/a/b", "/a", false},      {"/a/b", "/a/b/c/d", true},
        {"/a/b", "/a/c/b", false},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        assert_int_equal(tc_path_within(rows[i].dir, rows[i].path), rows[i].yes);
}

static void paths_split_into_parent_and_base(void **state)
{
    static const struct {
        const char *path, *parent, *base;
        size_t depth;
    } rows[] = {
        {"/", "/", "", 0},
        {"/a", "/", "a", 1},
        {"/a/b", "/a", "b", 2},
        {"/a/b/c.d", "/a/b", "c.d", 3},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *parent = tc_path_parent(rows[i].path);
        assert_string_equal(parent, rows[i].parent);
        assert_string_equal(tc_path_base(rows[i].path), rows[i].base);
        assert_int_equal(tc_path_depth(rows[i].path), rows[i].depth);
    }
}

static void joined_paths_have_one_slash(void **state)
{
    _autofree_ char *root = tc_path_join("/", "a");
    _autofree_ char *deep = tc_path_join("/a/b", "c");
    assert_string_equal(root, "/a");
    assert_string_equal(deep, "/a/b/c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_and_clean),
        cmocka_unit_test(paths_lie_within_whole_components),
        cmocka_unit_test(paths_split_into_parent_and_base),
        cmocka_unit_test(joined_paths_have_one_slash),
    };
    return cmocka_run_group_tests_name("base/path", tests, NULL, NULL);
}
