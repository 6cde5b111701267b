/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/screen.h"

#include <stdint.h>
#include <string.h>

enum { BEL = 7, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f };

/* The output buffer: room for the input and the held bytes. */
struct sink {
    char *to;
    size_t length;
};

static void put_bytes(struct sink *sink, const char *bytes, size_t length)
{
    memcpy(sink->to + sink->length, bytes, length);
    sink->length += length;
}

static void begin_sequence(struct tc_screen *s, enum tc_screen_state state, char byte)
{
    s->state = state;
    s->overlong = false;
    s->count = 0;
    s->held[s->count++] = byte;
}

static void hold(struct tc_screen *s, char byte)
{
    if (s->count < sizeof(s->held))
        s->held[s->count++] = byte;
    else
        s->overlong = true;
}

/* ---- sequences ---- */

static bool list_holds(const char *const *list, const char *at, size_t length)
{
    for (; *list; list++)
        if (strlen(*list) == length && !memcmp(*list, at, length))
            return true;
    return false;
}

/* Modes that tc_screen_reset() can reset. Others change the terminal's encoding, lock its keyboard,
 * echo input, or send reports after the end. */
static const char *const plain_modes[] = {"4", NULL};
static const char *const private_modes[] = {
    "1",    "5",    "7",    "9",    "12",   "25",   "47",   "66",   "69",   "1000", "1002", "1003",
    "1004", "1005", "1006", "1015", "1016", "1047", "1048", "1049", "2004", "2026", NULL};
/* The modes that switch to the alternate screen. */
static const char *const screens[] = {"47", "1047", "1049", NULL};

static bool passes_modes(struct tc_screen *s, bool set)
{
    bool private = s->held[2] == '?', screen = false;
    const char *at = s->held + 2 + private, *end = s->held + s->count - 1;
    while (at <= end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        size_t length = (size_t)((semicolon ? semicolon : end) - at);
        if (!list_holds(private ? private_modes : plain_modes, at, length))
            return false;
        screen = screen || (private && list_holds(screens, at, length));
        at += length + 1;
    }
    if (screen)
        s->alternate = set;
    return true;
}

/* A private prefix defines a separate command, whatever the last byte means without it. */
static bool passes_private(const struct tc_screen *s, char last)
{
    static const struct {
        char prefix;
        const char *finals;
    } known[] = {{'?', "hlJKncu"}, {'>', "mcu"}, {'=', "cu"}, {'<', "u"}};
    for (size_t i = 3; i + 1 < s->count; i++)
        if (s->held[i] >= '<' && s->held[i] <= '?')
            return false;
    if (s->held[2] < '<' || s->held[2] > '?')
        return true;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].prefix == s->held[2])
            return strchr(known[i].finals, last) &&
                   (last != 'm' ||
                    (s->held[3] == '4' && !(s->held[4] >= '0' && s->held[4] <= '9')));
    return false;
}

/* Sequences with an intermediate byte: cursor shape and soft reset, but no checksum of the screen.
 * */
static bool passes_intermediate(const struct tc_screen *s, char last)
{
    char before = s->held[s->count - 2];
    return (before == ' ' && last == 'q') || (before == '!' && last == 'p');
}

/* Movement, erasure, modes, colours and the two queries whose replies a tool cannot choose.
 * Excluded: t, which makes the terminal send its title; i, which prints. */
static bool passes_control(struct tc_screen *s)
{
    static const char finals[] = "@ABCDEFGHIJKLMPSTXZ`abcdefghlmnrsu";
    char last = s->held[s->count - 1];
    if (s->overlong || s->count < 3)
        return false;
    for (size_t i = 2; i + 1 < s->count; i++)
        if (s->held[i] >= 0x20 && s->held[i] <= 0x2f)
            return i + 2 == s->count && passes_intermediate(s, last);
    if (!strchr(finals, last) || !passes_private(s, last))
        return false;
    s->asked = s->asked || last == 'c' || last == 'n' || last == 'u';
    return (last != 'h' && last != 'l') || passes_modes(s, last == 'h');
}

static void take_control(struct tc_screen *s, char byte, struct sink *sink)
{
    unsigned char c = (unsigned char)byte;
    if (c < 0x20 ||
        c > 0x7e) { /* a terminal would act on the byte within the sequence: drops both */
        s->state = TC_SCREEN_TEXT;
        return;
    }
    hold(s, byte);
    if (c < 0x40)
        return;
    if (passes_control(s))
        put_bytes(sink, s->held, s->count);
    s->state = TC_SCREEN_TEXT;
}

/* After ESC: cursor, tabs, keypad, reset; character sets with one intermediate byte. */
static bool passes_escape(const struct tc_screen *s)
{
    static const char finals[] = "78=>DEHMNOc", sets[] = "()*+-./#";
    if (s->count == 2)
        return strchr(finals, s->held[1]) != NULL;
    return s->count == 3 && strchr(sets, s->held[1]);
}

static void take_escape(struct tc_screen *s, char byte, struct sink *sink)
{
    unsigned char c = (unsigned char)byte;
    bool first = s->count == 1;
    if (c < 0x20 || c > 0x7e) {
        s->state = TC_SCREEN_TEXT;
        return;
    }
    hold(s, byte);
    if (c < 0x30)
        return;
    if (first && byte == '[') {
        s->state = TC_SCREEN_CONTROL;
        return;
    }
    s->state = first && strchr("]PX^_k", byte) ? TC_SCREEN_STRING : TC_SCREEN_TEXT;
    if (s->state == TC_SCREEN_STRING || !passes_escape(s))
        return;
    put_bytes(sink, s->held, s->count);
    s->alternate = s->alternate && !(first && byte == 'c');
}

/* ---- text ---- */

/* The length of a character by its first byte; 0: invalid. */
static size_t length_of(unsigned char c)
{
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef)
        return 3;
    return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

/* Some terminals treat U+0080 to U+009F like ESC and a letter. */
static void take_character(struct tc_screen *s, char byte, struct sink *sink)
{
    hold(s, byte);
    if (--s->missing)
        return;
    s->state = TC_SCREEN_TEXT;
    bool control = (unsigned char)s->held[0] == 0xc2 && (unsigned char)s->held[1] < 0xa0;
    if (!control)
        put_bytes(sink, s->held, s->count);
}

static void take_text(struct tc_screen *s, char byte, struct sink *sink)
{
    static const char controls[] = "\a\b\t\n\v\f\r\016\017";
    unsigned char c = (unsigned char)byte;
    size_t length = length_of(c);
    if (length) {
        begin_sequence(s, TC_SCREEN_CHARACTER, byte);
        s->missing = length - 1;
    } else if (c == ESC) {
        begin_sequence(s, TC_SCREEN_ESCAPE, byte);
    } else if ((c >= 0x20 && c < DEL) || (c && strchr(controls, byte))) {
        put_bytes(sink, &byte, 1);
        s->in_line = byte != '\n' && (byte != '\r' || s->in_line);
    }
}

static void take_byte(struct tc_screen *s, char byte, struct sink *sink)
{
    unsigned char c = (unsigned char)byte;
    bool in_string = s->state == TC_SCREEN_STRING || s->state == TC_SCREEN_STRING_ESCAPE;
    if (s->state == TC_SCREEN_CHARACTER && (c & 0xc0) != 0x80)
        s->state = TC_SCREEN_TEXT; /* the character is incomplete: drops its held bytes */
    if (c == CAN || c == SUB) {
        s->state = TC_SCREEN_TEXT;
    } else if (in_string && c == BEL) {
        s->state = TC_SCREEN_TEXT;
    } else if (s->state == TC_SCREEN_STRING_ESCAPE && byte == '\\') {
        s->state = TC_SCREEN_TEXT;
    } else if (in_string) {
        s->state = c == ESC ? TC_SCREEN_STRING_ESCAPE : TC_SCREEN_STRING;
    } else if (c == ESC) {
        begin_sequence(s, TC_SCREEN_ESCAPE, byte);
    } else if (s->state == TC_SCREEN_ESCAPE) {
        take_escape(s, byte, sink);
    } else if (s->state == TC_SCREEN_CONTROL) {
        take_control(s, byte, sink);
    } else if (s->state == TC_SCREEN_CHARACTER) {
        take_character(s, byte, sink);
    } else {
        take_text(s, byte, sink);
    }
}

size_t tc_screen_filter(struct tc_screen *screen, const char *bytes, size_t length, char *to)
{
    struct sink sink = {.to = to};
    for (size_t i = 0; i < length; i++)
        take_byte(screen, bytes[i], &sink);
    return sink.length;
}

/* Resets every mode that passes: soft reset, whole scrolling region, no mouse, focus or paste
 * reports, normal keys, visible cursor, default character set. */
#define MODES                                                                                \
    "\033[!p\033[?2026;5;12l\0337\033[?69l\033[r\0338"                                       \
    "\033[?9;1000;1002;1003;1004;1005;1006;1015;1016;2004l\033[<99u\033[>4m\033[?1;66l\033>" \
    "\033[?7h\033[?25h\033[4l\033(B\017\033[0m"

const char *tc_screen_reset(const struct tc_screen *screen)
{
    return screen->alternate ? "\033[?1049l" MODES : MODES;
}
