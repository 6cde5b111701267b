/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/display.h"

#include <string.h>

static void unprintable_characters_are_escaped(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", ""},
        {"/home/a b.txt", "/home/a b.txt"},
        {"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\ndenied: x\r\t", "a\\x0adenied: x\\x0d\\x09"},
        {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
        {"\xc2\x9b", "\\u{9b}"},
        {"\xe2\x80\xaegpj.exe", "\\u{202e}gpj.exe"},
        {"\xe2\x80\xa8", "\\u{2028}"},
        {"\xf3\xa0\x81\x81", "\\u{e0041}"},
        {"a\xc2\xad"
         "b\xe3\x85\xa4\xef\xb8\x8f\xcd\x8f",
         "a\\u{ad}b\\u{3164}\\u{fe0f}\\u{34f}"},
        {"\xef\xbf\xb9x\xef\xbf\xbb\xd8\x80\xf0\x93\x90\xb0",
         "\\u{fff9}x\\u{fffb}\\u{600}\\u{13430}"},
        {"\xf8\x90\x80\x80\xfc\x8a\x80\x80", "\\xf8\\x90\\x80\\x80\\xfc\\x8a\\x80\\x80"},
        {"\xff\xc0\xaf\xe2\x82", "\\xff\\xc0\\xaf\\xe2\\x82"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char *shown = tc_display(rows[i].in);
        assert_string_equal(shown, rows[i].out);
        free(shown);
    }
}

static void shell_word_is_quoted(void **state)
{
    static const char *const rows[][2] = {
        {"/a/b-c_d.x", "/a/b-c_d.x"},       {"", "''"},
        {"/a --write /", "'/a --write /'"}, {"/a'$(id)", "'/a'\\''$(id)'"},
        {"/~;`x`\"", "'/~;`x`\"'"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char *word = tc_shell_quote(rows[i][0]);
        assert_string_equal(word, rows[i][1]);
        free(word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unprintable_characters_are_escaped),
                                       cmocka_unit_test(shell_word_is_quoted)};
    return cmocka_run_group_tests_name("base shown", tests, NULL, NULL);
}
