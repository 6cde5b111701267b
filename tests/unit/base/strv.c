/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/strv.h"

#include <string.h>

static void grows_and_terminates(void **state)
{
    _autostrv_ struct tc_strv v = {0};
    for (int i = 0; i < 200; i++) {
        assert_true(tc_strv_take(&v, tc_format("item %d", i)));
        assert_int_equal(v.count, i + 1);
        assert_null(v.items[v.count]);
    }
    assert_string_equal(v.items[0], "item 0");
    assert_string_equal(v.items[127], "item 127");
    assert_string_equal(v.items[199], "item 199");
    assert_true(tc_strv_has(&v, "item 64"));
    assert_false(tc_strv_has(&v, "item"));
}

static void no_text_is_a_failure(void **state)
{
    _autostrv_ struct tc_strv v = {0};
    assert_false(tc_strv_take(&v, NULL));
    assert_int_equal(v.count, 0);
    assert_null(v.items);
}

static void copies_are_their_own(void **state)
{
    _autostrv_ struct tc_strv from = {0}, to = {0};
    assert_true(tc_strv_add(&from, "a"));
    assert_true(tc_strv_add(&from, ""));
    assert_true(tc_strv_copy(&to, &from));
    from.items[0][0] = 'z';
    assert_int_equal(to.count, 2);
    assert_string_equal(to.items[0], "a");
    assert_string_equal(to.items[1], "");
}

static void pushes_zeroed_elements(void **state)
{
    struct {
        int number;
        char *text;
    } *items = NULL, *last;
    size_t count = 0;
    for (int i = 0; i < 100; i++) {
        last = TC_PUSH(items, count);
        assert_non_null(last);
        assert_int_equal(last->number, 0);
        assert_null(last->text);
        last->number = i;
    }
    assert_int_equal(count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(items[i].number, i);
    free(items);
}

static void growth_does_not_overflow(void **state)
{
    assert_null(tc_array_grow(NULL, (size_t)1 << 62, 64));
}

static void equality_knows_null(void **state)
{
    assert_true(tc_streq(NULL, NULL));
    assert_false(tc_streq(NULL, ""));
    assert_false(tc_streq("a", NULL));
    assert_true(tc_streq("a", "a"));
    assert_true(tc_startswith("abc", "") && tc_startswith("abc", "ab") &&
                !tc_startswith("a", "ab"));
    assert_true(tc_endswith("abc", "") && tc_endswith("abc", "bc") && !tc_endswith("c", "bc"));
}

static void copy_terminates(void **state)
{
    char to[4] = "zzz";
    tc_strcopy(to, sizeof(to), "abcdef");
    assert_string_equal(to, "abc");
    tc_strcopy(to, sizeof(to), "");
    assert_string_equal(to, "");
    tc_strcopy(to, 1, "x");
    assert_string_equal(to, "");
}

static void edit_distance_is_bounded(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned most, distance;
    } rows[] = {
        {"", "", 3, 0},
        {"timeout", "timeout", 3, 0},
        {"timeuot", "timeout", 3, 1}, /* two swapped letters */
        {"memry", "memory", 3, 1},
        {"", "abc", 3, 3},
        {"abc", "xyz", 2, 3},
        {"network", "netwrk", 1, 1},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_int_equal(tc_distance(rows[i].a, rows[i].b, rows[i].most), rows[i].distance);
        assert_int_equal(tc_distance(rows[i].b, rows[i].a, rows[i].most), rows[i].distance);
    }
    char longer[200];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(tc_distance(longer, longer, 2), 3);
}

static void utf8_is_validated(void **state)
{
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\xc2",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "\xfe",
                                      "\xff",
                                      "ok\xffok"};
    for (size_t i = 0; i < TC_COUNT(good); i++)
        assert_true(tc_utf8_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        assert_false(tc_utf8_valid(bad[i], strlen(bad[i])));
    assert_false(tc_utf8_valid("a\0b", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_terminates),     cmocka_unit_test(no_text_is_a_failure),
        cmocka_unit_test(copies_are_their_own),     cmocka_unit_test(pushes_zeroed_elements),
        cmocka_unit_test(growth_does_not_overflow), cmocka_unit_test(equality_knows_null),
        cmocka_unit_test(copy_terminates),          cmocka_unit_test(edit_distance_is_bounded),
        cmocka_unit_test(utf8_is_validated),
    };
    return cmocka_run_group_tests_name("base/strv", tests, NULL, NULL);
}
