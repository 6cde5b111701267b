/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcp/lines.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct tc_slice slice(const char *text)
{
    return (struct tc_slice){text, strlen(text)};
}

static void only_json_is_valid(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "-1.5e+7",
                                       "1E400",
                                       "123456789012345678901234567890",
                                       " true ",
                                       "null",
                                       "\"\"",
                                       "\"\\u0000\\ud83d\\ude00\\n\"",
                                       "\"\xf4\x8f\xbf\xbf\"",
                                       "[]",
                                       "{ }",
                                       "[[],{}]",
                                       "{\"a\":[1,{\"b\":null}],\"a\":2}",
                                       "\t[ 1 , 2 ]\r\n"};
    static const char *const bad[] = {"",
                                      " ",
                                      "01",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "+1",
                                      "tru",
                                      "nulls",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\ud83d\"",
                                      "\"\\ude00\"",
                                      "\"\\ud83d\\u0041\"",
                                      "\"\t\"",
                                      "\"\xc0\x80\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xe2\x82\"",
                                      "\"\x80\"",
                                      "[",
                                      "]",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{",
                                      "{1:2}",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{\"a\":1 \"b\":2}",
                                      "[}",
                                      "{]",
                                      "1 2",
                                      "[]]",
                                      "'a'",
                                      "{a:1}",
                                      "[1,2",
                                      "\"a\\",
                                      "NaN",
                                      "\xef\xbb\xbf[]"};
    for (size_t i = 0; i < COUNT(good); i++)
        if (!tc_scan_valid(good[i], strlen(good[i])))
            fail_msg("good: %s", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++)
        if (tc_scan_valid(bad[i], strlen(bad[i])))
            fail_msg("bad: %s", bad[i]);
    assert_false(tc_scan_valid("[1\0]", 4));
    assert_null(tc_scan_whole("[1", 2).at);
    struct tc_slice whole = tc_scan_whole(" \t[1] \r\n", 8);
    assert_int_equal(whole.length, 3);
    assert_memory_equal(whole.at, "[1]", 3);
    assert_false(tc_scan_valid("\"a\0\"", 4));
    for (size_t i = 0; i < COUNT(good); i++) /* a cut one is never valid, but for numbers */
        for (size_t n = 0; n + 1 < strlen(good[i]); n++)
            if (strchr("[{\"", good[i][0]))
                assert_false(tc_scan_valid(good[i], n));
}

static void depth_is_bounded(void **state)
{
    char text[1200];
    memset(text, '[', 512);
    memset(text + 512, ']', 512);
    assert_true(tc_scan_valid(text, 1024));
    memset(text, '[', 513);
    memset(text + 513, ']', 513);
    assert_false(tc_scan_valid(text, 1026));
}

static void walks_in_order(void **state)
{
    static const char text[] = " {\"a\" : [1,\"]\\\"}\"] , \"\\u0062\":{\"x\":{}} ,\"c\":-1e5}";
    static const char *const values[] = {"[1,\"]\\\"}\"]", "{\"x\":{}}", "-1e5"};
    assert_true(tc_scan_valid(text, strlen(text)));
    struct tc_scan_each each = tc_scan_walk(slice(text + 1));
    for (size_t i = 0; i < COUNT(values); i++) {
        assert_true(tc_scan_next(&each));
        assert_int_equal(each.value.length, strlen(values[i]));
        assert_memory_equal(each.value.at, values[i], each.value.length);
        assert_true(i != 1 || tc_scan_is(each.key, "b"));
    }
    assert_false(tc_scan_next(&each));
    each = tc_scan_walk(slice("[ ]"));
    assert_false(tc_scan_next(&each));
    each = tc_scan_walk(slice("[1, [2] ,3]"));
    for (int i = 0; i < 3; i++)
        assert_true(tc_scan_next(&each));
    assert_false(tc_scan_next(&each));
}

static void strings_say_one_thing(void **state)
{
    size_t length;
    char *text = tc_scan_text(slice("\"\\u0000\\/\\ud83d\\ude00\\u00e9\xc3\xa9\""), &length);
    assert_int_equal(length, 10);
    assert_memory_equal(text, "\0/\xf0\x9f\x98\x80\xc3\xa9\xc3\xa9", 10);
    free(text);
    assert_true(tc_scan_is(slice("\"tools/call\""), "tools/call"));
    assert_true(tc_scan_is(slice("\"t\\u006fols\\/call\""), "tools/call"));
    assert_false(tc_scan_is(slice("\"tools/call\\u0000\""), "tools/call"));
    assert_false(tc_scan_is(slice("\"Tools/call\""), "tools/call"));
    assert_false(tc_scan_is(slice("\"tools/cal\""), "tools/call"));
    assert_false(tc_scan_is(slice("5"), "5"));
    assert_true(tc_scan_folds(slice("\"TOOLS/call\""), "tools/call"));
    assert_true(tc_scan_folds(slice("\"tool\xc5\xbf/call\""), "tools/call"));
    assert_true(tc_scan_folds(slice("\"tool\\u017f/c\\u0041ll\""), "tools/call"));
    assert_true(tc_scan_folds(slice("\"\xe2\x84\xaa\\u212a\""), "kK"));
    assert_false(tc_scan_folds(slice("\"tools/calls\""), "tools/call"));
    assert_true(tc_scan_begins(slice("\"Tool\\u017f/x\""), "tools/"));
    assert_true(tc_scan_begins(slice("\"tools/\""), "tools/"));
    assert_false(tc_scan_begins(slice("\"tools\""), "tools/"));
    assert_false(tc_scan_begins(slice("\"xtools/\""), "tools/"));
}

static void a_member_stands_once(void **state)
{
    struct tc_slice value;
    assert_true(tc_scan_member(slice("{\"a\":1,\"b\":2}"), "b", &value));
    assert_int_equal(*value.at, '2');
    assert_true(tc_scan_member(slice("{\"a\":1}"), "b", &value));
    assert_null(value.at);
    assert_true(tc_scan_member(slice("[1]"), "b", &value));
    assert_null(value.at);
    assert_true(tc_scan_member((struct tc_slice){0}, "b", &value));
    assert_true(tc_scan_member(slice("{\"\\u0062\":3}"), "b", &value));
    assert_int_equal(*value.at, '3');
    assert_false(tc_scan_member(slice("{\"b\":1,\"b\":2}"), "b", &value));
    assert_false(tc_scan_member(slice("{\"b\":1,\"B\":2}"), "b", &value));
    assert_false(tc_scan_member(slice("{\"B\":2}"), "b", &value));
}

/* What waits in a box that is never empty takes the room of what waits, not of all that passed. */
static void a_busy_box_does_not_grow(void **state)
{
    struct tc_outbox box = {0};
    char text[1000];
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 20; i++)
        assert_true(tc_outbox_add(&box, text, sizeof(text)));
    for (int i = 0; i < 10000; i++) {
        assert_true(tc_outbox_add(&box, text, sizeof(text)));
        box.sent += sizeof(text) + 1; /* as a write would */
    }
    assert_int_equal(tc_outbox_pending(&box), 20 * 1001);
    assert_true(box.size < 300000);
    tc_outbox_done(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_json_is_valid),   cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(walks_in_order),       cmocka_unit_test(strings_say_one_thing),
        cmocka_unit_test(a_member_stands_once), cmocka_unit_test(a_busy_box_does_not_grow),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
