/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/show/clean.h"

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
        {"a\xc2\xad"
         "b",
         "a\\u{ad}b"}, /* soft hyphen */
        {"\xef\xbf\xb9x\xef\xbf\xbay\xef\xbf\xbb",
         "\\u{fff9}x\\u{fffa}y\\u{fffb}"}, /* an annotation of x, in place of which y is shown */
        {"\xe3\x85\xa4\xe1\x85\x9f\xcd\x8f\xe1\xa0\x8e", "\\u{3164}\\u{115f}\\u{34f}\\u{180e}"},
        {"\xd8\x80\xf0\x91\x82\xbd\xf0\x9d\x85\xb3\xf0\x93\x90\xb0",
         "\\u{600}\\u{110bd}\\u{1d173}\\u{13430}"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xc0\xaf", "\\xc0\\xaf"},          /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
        {"\xe2\x82", "\\xe2\\x82"},          /* cut */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *clean = tc_clean(TC_CLEAN_TEXT, rows[i].text, strlen(rows[i].text), NULL);
        assert_string_equal(clean, rows[i].clean);
    }
    /* in a text it chooses a form of the sign; a name that has it looks like another */
    static const char heart[] = "\xe2\x9d\xa4\xef\xb8\x8f";
    _autofree_ char *text = tc_clean(TC_CLEAN_TEXT, heart, strlen(heart), NULL);
    _autofree_ char *line = tc_clean(TC_CLEAN_LINE, heart, strlen(heart), NULL);
    assert_string_equal(text, heart);
    assert_string_equal(line, "\xe2\x9d\xa4\\u{fe0f}");
    /* one after another, or after a letter, chooses nothing: so a text can be hidden */
    static const char hidden[] = "1\xef\xb8\x8f\xef\xb8\x81 a\xef\xb8\x82";
    _autofree_ char *shown = tc_clean(TC_CLEAN_TEXT, hidden, strlen(hidden), NULL);
    assert_string_equal(shown, "1\xef\xb8\x8f\\u{fe01} a\\u{fe02}");
}

static void kinds_keep_their_allowed_characters(void **state)
{
    static const char text[] = "a\n\t\r\x1b\xe2\x80\xae\xf3\xa0\x81\x81\xff";
    static const char *const clean[] = {
        [TC_CLEAN_LINE] = "a\\x0a\\x09\\x0d\\x1b\\u{202e}\\u{e0041}\\xff",
        [TC_CLEAN_TEXT] = "a\n\t\\x0d\\x1b\\u{202e}\\u{e0041}\\xff",
        [TC_CLEAN_OUTPUT] = "a\n\t\r\\x1b\\u{202e}\\u{e0041}\\xff",
        [TC_CLEAN_JSON] = "a\n\\u0009\\u000d\\u001b\\u202e\\udb40\\udc41\\ufffd",
    };
    for (size_t i = 0; i < TC_COUNT(clean); i++) {
        size_t length = 0;
        _autofree_ char *out = tc_clean((enum tc_clean)i, text, sizeof(text) - 1, &length);
        assert_string_equal(out, clean[i]);
        assert_int_equal(length, strlen(clean[i]));
    }
}

/* Whatever the pieces, the whole is the same. */
static void pieces_make_the_whole(void **state)
{
    static const char text[] =
        "\xe2\x82\xac\x1b[1m\xe2\x80\xae\xf0\x9f\x98\x80 \xe2\x82 \xff\xf0\x9f\x98";
    size_t all = sizeof(text) - 1;
    for (size_t size = 1; size <= all; size++) {
        struct tc_clean_held held = {0};
        char got[256] = "", *end = got;
        for (size_t at = 0; at < all; at += size) {
            _autofree_ char *piece =
                tc_clean_piece(&held, text + at, all - at < size ? all - at : size, NULL);
            end = stpcpy(end, piece);
        }
        assert_string_equal(got, "\xe2\x82\xac\\x1b[1m\\u{202e}\xf0\x9f\x98\x80 \\xe2\\x82 \\xff");
        assert_int_equal(held.count, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmful_characters_are_shown),
        cmocka_unit_test(kinds_keep_their_allowed_characters),
        cmocka_unit_test(pieces_make_the_whole),
    };
    return cmocka_run_group_tests_name("cli clean", tests, NULL, NULL);
}
