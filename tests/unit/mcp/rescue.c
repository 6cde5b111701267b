/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/rescue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcp/lines.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *text, *id; /* NULL: none */
    enum tc_rescued kind;
} rows[] = {
    {"{\"id\":7,\"method\":\"m\",\"params\":\"\\ud83d\"}", "7", TC_RESCUED_REQUEST},
    {"{\"method\":\"m\",\"params\":{\"id\":8,\"a\":[\"\\uZZ\", ]},\"id\" : \"a b\" }", "\"a b\"",
     TC_RESCUED_REQUEST},
    {"{\"id\": -12 ,\"method\":\"m\",\"n\":123456789012345678901234567890", "-12",
     TC_RESCUED_REQUEST},
    {"{\"id\":7,\"result\":\"\\u12\"}", "7", TC_RESCUED_RESPONSE},
    {"{\"method\":\"m\",\"s\":\"\\\"id\\\":9,\",\"id\":\"x\\\"y\"}", "\"x\\\"y\"",
     TC_RESCUED_REQUEST},
    /* readers may disagree, or there is no id */
    {"{\"method\":\"m\",\"params\":{}}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1,\"method\":\"m\",\"id\":2}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1,\"method\":\"m\",\"\\u0069d\":2}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1 2,\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1.5,\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":null,\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":[1],\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":\"\\ud800\",\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1234567890123456789,\"method\":\"m\"}", NULL, TC_RESCUED_NOTHING},
    {"[{\"id\":1,\"method\":\"m\"}]", NULL, TC_RESCUED_NOTHING},
    {"{\"id\":1,\"method\":\"m\"}{\"id\":2}", NULL, TC_RESCUED_NOTHING},
    {"x", NULL, TC_RESCUED_NOTHING},
    {"", NULL, TC_RESCUED_NOTHING},
};

static void id_of_broken_message_is_found(void **state)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t step = 1; step < 80; step += 7) {
            struct tc_rescue rescue = {0};
            size_t len = strlen(rows[i].text);
            const char *id;
            for (size_t at = 0; at < len; at += step)
                tc_rescue_add(&rescue, rows[i].text + at, len - at < step ? len - at : step);
            enum tc_rescued got = tc_rescue_end(&rescue, &id);
            if (got != rows[i].kind)
                print_error("row %zu: %d, %s\n", i, (int)got, id);
            assert_int_equal(got, rows[i].kind);
            if (rows[i].id)
                assert_string_equal(id, rows[i].id);
        }
}

static void long_id_is_not_kept(void **state)
{
    struct tc_rescue rescue = {0};
    const char *id;
    tc_rescue_add(&rescue, "{\"method\":\"m\",\"id\":\"", 20);
    for (int i = 0; i < 300; i++)
        tc_rescue_add(&rescue, "x", 1);
    tc_rescue_add(&rescue, "\"}", 2);
    assert_int_equal(tc_rescue_end(&rescue, &id), TC_RESCUED_NOTHING);
}

static void unpaired_surrogates_are_replaced(void **state)
{
    static const char *const texts[][2] = {
        {"[\"\\ud83d\"]", "[\"\\ufffd\"]"},
        {"[\"\\uDE00x\\ud83d\\ud83d\\ude00\"]", "[\"\\ufffdx\\ufffd\\ud83d\\ude00\"]"},
        {"[\"\\\\ud83d\"]", "[\"\\\\ud83d\"]"},
        {"{\"a\":\"\\ud83d\\u0041\"}", "{\"a\":\"\\ufffd\\u0041\"}"},
        {"[\"\\ud8", "[\"\\ud8"},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *text = strdup(texts[i][0]);
        assert_true(tc_rescue_surrogates(text, strlen(text)) >= 0);
        assert_string_equal(text, texts[i][1]);
        free(text);
    }
    char key[] = "{\"a\\ud83d\" : 1}";
    assert_int_equal(tc_rescue_surrogates(key, strlen(key)), -1);
    assert_null(tc_rescue_text("{\"\\ud83d\":1}", 12));
    assert_null(tc_rescue_text("\"\\ud83d\\ude00\"", 14));
}

static void long_line_is_reported_at_both_ends(void **state)
{
    static const char head[] = "{\"method\":\"m\",\"s\":\"", tail[] = "\",\"id\":3}\n{}\n";
    struct tc_lines lines = {0};
    const char *line, *id;
    size_t length, size = TC_LINE_MAX + 10;
    char *filler = malloc(size);
    assert_non_null(filler);
    memset(filler, 'x', size);
    for (int pieces = 0; pieces < 2; pieces++) {
        assert_true(tc_lines_add(&lines, head, sizeof(head) - 1));
        assert_true(tc_lines_add(&lines, filler, size));
        if (pieces)
            assert_int_equal(tc_lines_next(&lines, &line, &length), TC_LINE_TOO_LONG);
        assert_true(tc_lines_add(&lines, tail, sizeof(tail) - 1));
        if (!pieces)
            assert_int_equal(tc_lines_next(&lines, &line, &length), TC_LINE_TOO_LONG);
        assert_int_equal(tc_lines_next(&lines, &line, &length), TC_LINE_SKIPPED);
        assert_int_equal(tc_rescue_end(&lines.rescue, &id), TC_RESCUED_REQUEST);
        assert_string_equal(id, "3");
        assert_int_equal(tc_lines_next(&lines, &line, &length), TC_LINE_WHOLE);
        assert_int_equal(length, 2);
        assert_int_equal(tc_lines_next(&lines, &line, &length), TC_LINE_NONE);
    }
    tc_lines_done(&lines);
    free(filler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_of_broken_message_is_found),
        cmocka_unit_test(long_id_is_not_kept),
        cmocka_unit_test(unpaired_surrogates_are_replaced),
        cmocka_unit_test(long_line_is_reported_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
