/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "cli/show/say.h"

static void lines_have_their_prefix(void **state)
{
    struct capture c;
    capture_begin(&c, STDERR_FILENO);
    tc_cli_say("denied %s", "\x1b]0;title\x07");
    tc_cli_hint("do %d\ntoolcage: fine", 7);
    assert_string_equal(capture_end(&c), "toolcage: denied \\x1b]0;title\\x07\n"
                                         "hint: do 7\\x0atoolcage: fine\n");
}

static void json_strings_are_escaped(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tc_cli_json_string(out, "a\"\\\n\x01\xc3\xa9\xff");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "\"a\\u0022\\u005c\\u000a\\u0001\xc3\xa9\\ufffd\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_their_prefix),
        cmocka_unit_test(json_strings_are_escaped),
    };
    return cmocka_run_group_tests_name("cli say", tests, NULL, NULL);
}
