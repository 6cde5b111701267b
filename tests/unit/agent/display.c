/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/agent.h"

static void assert_shown(const char *json, size_t width, const char *wanted)
{
    json_t *arguments = json_loads(json, JSON_ALLOW_NUL, NULL);
    assert_non_null(arguments);
    char *text = tc_agent_display_arguments(arguments, width);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(arguments);
}

static void values_are_named(void **state)
{
    assert_shown("{}", 80, "  no arguments\n");
    assert_shown("{\"a\": 1, \"b\": \"1\", \"c\": true, \"d\": null, \"e\": [], \"f\": \"\"}", 80,
                 "  a: 1\n  b: \"1\"\n  c: true\n  d: null\n  e: []\n  f: \"\"\n");
    assert_shown("{\"a\": [1, {\"b\": \"c\\nd\"}]}", 80,
                 "  a:\n  | [\n  |   1,\n  |   {\n  |     \"b\": \"c\\nd\"\n  |   }\n  | ]\n");
}

static void texts_are_lines(void **state)
{
    assert_shown("{\"a\": \"x\\n\\ny\\n\"}", 80, "  a: 3 lines\n  | x\n  | \n  | y\n");
    assert_shown("{\"a\": \"say \\\"x\\\"\"}", 80, "  a: 1 line\n  | say \"x\"\n");
    assert_shown("{\"a\": \"\\n\"}", 80, "  a: 1 line\n  | \n");
    assert_shown("{\"a\": \"x\\u0000y\\tz\"}", 80, "  a: 1 line\n  | x\\x00y\tz\n");
}

static void names_pass_for_nothing_else(void **state)
{
    assert_shown("{\"  | x\": 1, \"\": 2, \"a\\nb\": 3, \"\xc3\xa9\": 4}", 80,
                 "  \"  | x\": 1\n  \"\": 2\n  \"a\\nb\": 3\n  \"\xc3\xa9\": 4\n");
}

static void long_lines_are_broken(void **state)
{
    assert_shown("{\"a\": \"0123456789abcdefghij\"}", 20, "  a: \"0123456789abcd\n  : efghij\"\n");
    /* each may take two columns */
    assert_shown(
        "{\"a\": \"\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80"
        "\xe4\xb8\x80\xe4\xb8\x80\"}",
        20,
        "  a: \"\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80"
        "\xe4\xb8\x80\n  : \xe4\xb8\x80\"\n");
    assert_shown("{\"a\": \"\\tx\\ty\"}", 20, "  a: 1 line\n  | \tx\n  : \ty\n");
}

static void blanks_are_counted(void **state)
{
    assert_shown("{\"a\": \"x                        y\"}", 80,
                 "  a: \"x                        y\"\n");
    assert_shown("{\"a\": \"x                         y\"}", 80, "  a: \"x[25 blanks]y\"\n");
    assert_shown(
        "{\"a\": \"x\\u00a0\\u3000\\u2800 \\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003"
        "\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003\\u2003"
        "\\u2003\\u2003\\u1680y\"}",
        80, "  a: \"x[25 blanks]y\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_named),
        cmocka_unit_test(texts_are_lines),
        cmocka_unit_test(names_pass_for_nothing_else),
        cmocka_unit_test(long_lines_are_broken),
        cmocka_unit_test(blanks_are_counted),
    };
    return cmocka_run_group_tests_name("agent shown", tests, NULL, NULL);
}
