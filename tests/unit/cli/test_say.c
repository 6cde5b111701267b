/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "cli/say.h"

static void harmful_characters_are_shown(void **state)
{
    static const struct {
        const char *text, *clean;
    } rows[] = {
        {"plain \t\n", "plain \t\n"},
        {"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80",
         "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"a\rb\x07", "a\\x0db\\x07"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u{9b}31m"}, /* the one-character form of ESC [ */
        {"\xe2\x80\xae"
         "gnp",
         "\\u{202e}gnp"}, /* right-to-left override */
        {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}"},
        {"a\xe2\x80\x8b"
         "b",
         "a\\u{200b}b"},                    /* zero width */
        {"\xf3\xa0\x81\x81", "\\u{e0041}"}, /* a tag character */
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xc0\xaf", "\\xc0\\xaf"},          /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
        {"\xe2\x82", "\\xe2\\x82"},          /* cut */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *clean = tc_cli_clean(rows[i].text);
        assert_string_equal(clean, rows[i].clean);
    }
}

static void lines_have_their_prefix(void **state)
{
    struct capture c;
    capture_begin(&c, STDERR_FILENO);
    tc_cli_say("denied %s", "\x1b]0;title\x07");
    tc_cli_hint("do %d", 7);
    assert_string_equal(capture_end(&c), "toolcage: denied \\x1b]0;title\\x07\nhint: do 7\n");
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
        cmocka_unit_test(harmful_characters_are_shown),
        cmocka_unit_test(lines_have_their_prefix),
        cmocka_unit_test(json_strings_are_escaped),
    };
    return cmocka_run_group_tests_name("cli say", tests, NULL, NULL);
}
