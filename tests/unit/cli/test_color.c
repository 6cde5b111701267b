/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * When our lines have colours, and which part of a line; what a tool wrote paints nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/show/color.h"

static void check(enum tc_paint paint, const char *text, const char *wanted)
{
    _autofree_ char *painted = tc_color_paint(paint, STDOUT_FILENO, text);
    assert_non_null(painted);
    assert_string_equal(painted, wanted);
}

static int always(void **state)
{
    return tc_color_set("always") ? 0 : -1;
}

static int automatic(void **state)
{
    return tc_color_set("auto") ? 0 : -1;
}

static void color_options_are_validated(void **state)
{
    assert_false(tc_color_set("yes"));
    assert_false(tc_color_set(""));
    assert_true(tc_color_set("never"));
    assert_false(tc_color_on(STDOUT_FILENO));
    check(TC_PAINT_STATES, "ok  a\n", "ok  a\n");
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    assert_true(tc_color_set("always"));
    assert_true(tc_color_on(STDOUT_FILENO));
    assert_int_equal(unsetenv("NO_COLOR"), 0);
}

static void states_are_painted_at_line_starts(void **state)
{
    check(TC_PAINT_STATES, "ok   a\nno   b\nnot ok 1 - c\nokay\n  ok\nnone\n",
          "\x1b[32mok\x1b[0m   a\n\x1b[31mno\x1b[0m   b\n\x1b[31mnot ok\x1b[0m 1 - c\nokay\n  ok\n"
          "none\n");
    check(TC_PAINT_STATES, "ok ", "\x1b[32mok\x1b[0m ");
    check(TC_PAINT_NOTHING, "ok  a\n", "ok  a\n");
    check(TC_PAINT_STATES, "", "");
}

static void severities_of_findings_are_painted(void **state)
{
    check(TC_PAINT_FINDINGS,
          "p.toml:3:1: error: x\n    3 | a:1: error: b\n      | ^~~\nhint: see a: error: b\n",
          "p.toml:3:1: \x1b[31merror\x1b[0m: x\n    3 | a:1: error: b\n      | ^~~\n"
          "hint: see a: error: b\n");
    check(TC_PAINT_FINDINGS, "p:1:2: warning: x:1: error: y\np:1:2: note: z\n",
          "p:1:2: \x1b[33mwarning\x1b[0m: x:1: error: y\np:1:2: \x1b[36mnote\x1b[0m: z\n");
    check(TC_PAINT_FINDINGS, "p:1:2:\n    error: x\n    2 |     error: y\n",
          "p:1:2:\n    \x1b[31merror\x1b[0m: x\n    2 |     error: y\n");
    check(TC_PAINT_FINDINGS, ": error: x\np: ok\n", ": error: x\np: ok\n");
}

static void diff_lines_are_painted(void **state)
{
    check(TC_PAINT_DIFF,
          "added     a\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n b\n-c\n+d\n\\ No newline at end of file\n"
          "--- e\n+++ e\n",
          "added     a\n\x1b[1m--- a\x1b[0m\n\x1b[1m+++ a\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n"
          " b\n\x1b[31m-c\x1b[0m\n\x1b[32m+d\x1b[0m\n\\ No newline at end of file\n"
          "\x1b[1m--- e\x1b[0m\n\x1b[1m+++ e\x1b[0m\n");
    check(TC_PAINT_SIGNS, "+ more\n  - less\n  same\n",
          "\x1b[32m+ more\x1b[0m\n  \x1b[31m- less\x1b[0m\n  same\n");
}

/* A tool's lines that look like names of files or the head of a hunk are what they are: content. */
static void file_content_is_not_painted(void **state)
{
    check(TC_PAINT_DIFF, "@@ -1 +1,3 @@\n--- a\n+++ a\n+@@ -1 +1 @@\n+x\n",
          "\x1b[36m@@ -1 +1,3 @@\x1b[0m\n\x1b[31m--- a\x1b[0m\n\x1b[32m+++ a\x1b[0m\n"
          "\x1b[32m+@@ -1 +1 @@\x1b[0m\n\x1b[32m+x\x1b[0m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(color_options_are_validated, always, automatic),
        cmocka_unit_test_setup_teardown(states_are_painted_at_line_starts, always, automatic),
        cmocka_unit_test_setup_teardown(severities_of_findings_are_painted, always, automatic),
        cmocka_unit_test_setup_teardown(diff_lines_are_painted, always, automatic),
        cmocka_unit_test_setup_teardown(file_content_is_not_painted, always, automatic),
    };
    return cmocka_run_group_tests_name("cli color", tests, NULL, NULL);
}
