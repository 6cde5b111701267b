/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rows and findings in the width of a terminal: no word is lost, and marks stay under their text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/show/fold.h"

static void check(char *folded, const char *wanted)
{
    _autofree_ char *text = folded;
    assert_non_null(text);
    assert_string_equal(text, wanted);
}

static void rows_are_folded_with_indent(void **state)
{
    check(tc_fold_rows("ok   a short row\n", 40), "ok   a short row\n");
    check(tc_fold_rows("access   /some/path/somewhere  from policy, line 3\nnext\n", 40),
          "access   /some/path/somewhere  from\n         policy, line 3\nnext\n");
    check(tc_fold_rows("  + /some/path/somewhere is readable, before nothing", 40),
          "  + /some/path/somewhere is readable,\n      before nothing");
    check(tc_fold_rows("a  /a/path/that/is/longer/than/the/terminal/has/columns\n", 40),
          "a  /a/path/that/is/longer/than/the/terminal/has/columns\n");
    check(tc_fold_rows("x  \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 "
                       "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 123456789 123456789 123\n",
                       40),
          "x  \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 "
          "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 123456789 123456789\n   123\n");
    check(tc_fold_rows("", 40), "");
}

static void findings_are_folded_with_indent(void **state)
{
    check(tc_fold_findings("p:1:2: error: a message that is longer than forty\n"
                           "    1 | x = 1\n      |   ^\nhint: a\n",
                           40),
          "p:1:2: error: a message that is longer\n    than forty\n"
          "    1 | x = 1\n      |   ^\nhint: a\n");
    check(tc_fold_findings("hint: 3456789 123456789 123456789 123456789 1", 40),
          "hint: 3456789 123456789 123456789\n      123456789 1");
}

/* 32 columns are beside the gutter. */
static void marks_follow_their_folded_line(void **state)
{
    static const char line[] = "    1 | aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii\n";
    char text[256];
    (void)snprintf(text, sizeof(text), "%s      | %*s^~~~\n", line, 35, "");
    check(tc_fold_findings(text, 40), "    1 | aaaa bbbb cccc dddd eeee ffff \n"
                                      "      | gggg hhhh iiii\n"
                                      "      |      ^~~~\n");
    (void)snprintf(text, sizeof(text), "%s      |      ^~~~\n", line);
    check(tc_fold_findings(text, 40), "    1 | aaaa bbbb cccc dddd eeee ffff \n"
                                      "      |      ^~~~\n"
                                      "      | gggg hhhh iiii\n");
    (void)snprintf(text, sizeof(text), "%s      | %*s^~~~~~~~~\n", line, 25, "");
    check(tc_fold_findings(text, 40), "    1 | aaaa bbbb cccc dddd eeee ffff \n"
                                      "      |                          ^~~~~\n"
                                      "      | gggg hhhh iiii\n"
                                      "      | ~~~~\n");
    (void)snprintf(text, sizeof(text), "%s      | %*s^\n", line, 44, "");
    check(tc_fold_findings(text, 40), "    1 | aaaa bbbb cccc dddd eeee ffff \n"
                                      "      | gggg hhhh iiii\n"
                                      "      |               ^\n");
}

static void tabs_and_blank_lines_are_folded(void **state)
{
    check(tc_fold_findings("    1 | \tab = 1\n      | \t  ^\n", 40),
          "    1 |         ab = 1\n      |           ^\n");
    check(tc_fold_findings("    1 | \n      | ^\n", 40), "    1 | \n      | ^\n");
    check(tc_fold_findings("    1 | aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee\n      | "
                           "                                        ^~~~\n",
                           40),
          "    1 | aaaaaaaaaabbbbbbbbbbccccccccccdd\n      | ddddddddeeee\n      |         "
          "^~~~\n");
    check(tc_fold_findings("    1 | no marks\n", 40), "    1 | no marks\n");
    check(tc_fold_findings("", 40), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_folded_with_indent),
        cmocka_unit_test(findings_are_folded_with_indent),
        cmocka_unit_test(marks_follow_their_folded_line),
        cmocka_unit_test(tabs_and_blank_lines_are_folded),
    };
    return cmocka_run_group_tests_name("cli fold", tests, NULL, NULL);
}
