/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What of a cage's words gets to a person's terminal: the same whatever pieces they come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/show/screen.h"

static const struct {
    const char *in, *out;
} rows[] = {
    {"plain \xe2\x82\xac\r\n\tx\b\a", "plain \xe2\x82\xac\r\n\tx\b\a"},
    {"\033[1;31mred\033[0m\033[2J\033[?1049h\033[10;20H", NULL},
    {"\0337\0338\033=\033>\033(B\033M\033c\033[!p\033[2 q", NULL},
    {"\033[c\033[6n\033[?2004h\033[>4;2m", NULL},
    {"a\033]52;c;eA==\007b", "ab"},
    {"a\033]0;title\033\\b", "ab"},
    {"a\033Pq#0\033\\b", "ab"},
    {"a\033_Gt=f\033\\b\033^x\033\\c\033Xx\033\\d\033kx\033\\e", "abcde"},
    {"\033[?1;5;7;12;25;2026h\033[4h\033[4l\033[=1u\033[<u\033[?u\033[>1u\033[>c\033[?1J", NULL},
    {"a\033[?6h\033[?2lb\033[?02lc\033[?25;2hd\033[?3he\033[?1001hf\033[?2048hg\033[?25:2lh",
     "abcdefgh"},
    {"a\033[2hb\033[12lc\033[20hd\033[he\033[?hf\033[4;hg\033[1?25lh\033[4:2hi", "abcdefghi"},
    {"a\033[?2rb\033[?2sc\033[?1;1;0Sd\033[>2Te\033[>1;2mf\033[?4mg\033[>41;2mh\033[>2nj",
     "abcdefghj"},
    {"a\033]0;x\033[31my\007b", "ab"},
    {"a\033]0;x\030b", "ab"},
    {"a\033[21tb\033[5ic\033[1;1;1;1;1;1*yd\033[?1$pe\033[>qf", "abcdef"},
    {"a\005b\177c\001d", "abcd"},
    {"a\302\23352cb", "a52cb"},
    {"a\233b\200\277c\360d", "abcd"},
    {"a\033[3\033[31mb", "a\033[31mb"},
    {"a\033[3\n1mb", "a1mb"},
    {"a\033[31\302\240mb", "amb"},
    {"a\033%@b", "ab"},
    {"a\033\033]52;c;x\007b", "ab"},
    {"a\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mb", "ab"},
};

static void filter(const char *in, size_t piece, char *out, size_t *length)
{
    struct tc_screen screen = {0};
    size_t left = strlen(in);
    *length = 0;
    while (left) {
        size_t n = piece < left ? piece : left;
        *length += tc_screen_filter(&screen, in, n, out + *length);
        in += n;
        left -= n;
    }
}

static void only_harmless_sequences_pass(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *want = rows[i].out ? rows[i].out : rows[i].in;
        for (size_t piece = 1; piece < 9; piece++) {
            char out[512];
            size_t length;
            filter(rows[i].in, piece, out, &length);
            out[length] = '\0';
            assert_string_equal(out, want);
        }
    }
}

static void keeps_within_its_room(void **state)
{
    struct tc_screen screen = {0};
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        static const char some[] = "\033[]PX;?19hlmtc\\\a\302\233\342\202\254 x";
        char in[16], out[TC_SCREEN_ROOM(sizeof(in))];
        for (size_t i = 0; i < sizeof(in); i++) {
            random = random * 1664525 + 1013904223;
            in[i] = some[(random >> 16) % (sizeof(some) - 1)];
        }
        assert_true(tc_screen_filter(&screen, in, sizeof(in), out) <= sizeof(out));
    }
}

/* What passes and changes how a terminal works is among what is taken back. */
static void takes_back_each_mode(void **state)
{
    for (int number = 0; number < 10000; number++) {
        char in[16], out[64], digits[8];
        struct tc_screen screen = {0};
        (void)snprintf(in, sizeof(in), "\033[?%dh", number);
        if (!tc_screen_filter(&screen, in, strlen(in), out))
            continue;
        (void)snprintf(digits, sizeof(digits), "%d", number);
        const char *reset = tc_screen_reset(&screen), *at = reset;
        bool there = screen.alternate || number == 1048;
        for (; (at = strstr(at, digits)); at++)
            there = there || (strchr("?;", at[-1]) && strchr(";lh", at[strlen(digits)]));
        assert_true(there);
    }
}

static void changed_modes_are_reset(void **state)
{
    static const char in[] = "\033[?25;1049h", out[] = "\033[?1049l";
    struct tc_screen screen = {0};
    char to[128];
    assert_null(strstr(tc_screen_reset(&screen), "1049"));
    (void)tc_screen_filter(&screen, in, strlen(in), to);
    assert_true(screen.alternate);
    assert_non_null(strstr(tc_screen_reset(&screen), out));
    (void)tc_screen_filter(&screen, out, strlen(out), to);
    assert_false(screen.alternate || screen.asked);
    (void)tc_screen_filter(&screen, "\033[6n", 4, to);
    assert_true(screen.asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_harmless_sequences_pass), cmocka_unit_test(keeps_within_its_room),
        cmocka_unit_test(takes_back_each_mode), cmocka_unit_test(changed_modes_are_reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
