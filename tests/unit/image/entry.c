/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "image/entry.h"

static void clean_names(void **state)
{
    static const struct {
        const char *name, *clean;
    } rows[] = {
        {"a", "a"},        {"./a", "a"},       {"a/b/", "a/b"},
        {"a//./b", "a/b"}, {".", ""},          {"./", ""},
        {"...", "..."},    {"a/...", "a/..."}, {"..a/b..", "..a/b.."},
        {"", NULL},        {"/", NULL},        {"/a", NULL},
        {"..", NULL},      {"../a", NULL},     {"a/..", NULL},
        {"a/../b", NULL},  {"./../a", NULL},   {"a/b/../../../c", NULL},
        {"a\n", "a\n"},
    };
    char out[PATH_MAX];
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_int_equal(tc_entry_clean(rows[i].name, out), rows[i].clean != NULL);
        if (rows[i].clean)
            assert_string_equal(out, rows[i].clean);
    }
}

static void long_names(void **state)
{
    char name[3 * PATH_MAX], out[PATH_MAX];
    memset(name, 'a', sizeof(name));
    name[NAME_MAX] = '\0';
    assert_true(tc_entry_clean(name, out));
    name[NAME_MAX] = 'a';
    name[NAME_MAX + 1] = '\0';
    assert_false(tc_entry_clean(name, out));
    for (int i = 0; i < TC_ENTRY_DEEPEST; i++)
        memcpy(name + 2 * (size_t)i, "d/", 3);
    assert_true(tc_entry_clean(name, out));
    memcpy(name + 2 * (size_t)TC_ENTRY_DEEPEST, "d", 2);
    assert_false(tc_entry_clean(name, out));
    for (size_t i = 0; i + 1 < sizeof(name); i++)
        name[i] = i % 200 == 199 ? '/' : 'x';
    name[sizeof(name) - 1] = '\0';
    assert_false(tc_entry_clean(name, out));
}

static void entry_names_have_their_kind(void **state)
{
    static const struct {
        const char *name;
        enum tc_entry_kind kind;
        const char *meant;
    } rows[] = {
        {"a", TC_ENTRY_PLAIN, "a"},
        {"d/a", TC_ENTRY_PLAIN, "a"},
        {"d/.wh", TC_ENTRY_PLAIN, ".wh"},
        {".wh.a", TC_ENTRY_WHITEOUT, "a"},
        {"d/.wh.a", TC_ENTRY_WHITEOUT, "a"},
        {"d/.wh.a.b", TC_ENTRY_WHITEOUT, "a.b"},
        {"d/.wh..b", TC_ENTRY_WHITEOUT, ".b"},
        {".wh..wh..opq", TC_ENTRY_OPAQUE, NULL},
        {"d/.wh..wh..opq", TC_ENTRY_OPAQUE, NULL},
        {".wh..wh.plnk", TC_ENTRY_IGNORED, NULL},
        {".wh..wh.plnk/1.2", TC_ENTRY_IGNORED, NULL},
        {"d/.wh.a/b", TC_ENTRY_IGNORED, NULL},
        {"d/.wh.a/.wh.b", TC_ENTRY_IGNORED, NULL},
        {".wh.", TC_ENTRY_BAD, NULL},
        {"d/.wh..", TC_ENTRY_BAD, NULL},
        {"d/.wh...", TC_ENTRY_BAD, NULL},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const char *meant;
        assert_int_equal(tc_entry_kind(rows[i].name, &meant), rows[i].kind);
        if (rows[i].meant)
            assert_string_equal(meant, rows[i].meant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_names),
        cmocka_unit_test(long_names),
        cmocka_unit_test(entry_names_have_their_kind),
    };
    return cmocka_run_group_tests_name("image/entry", tests, NULL, NULL);
}
