/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "text/utf8.h"

enum { LONGEST_ESCAPE = 12 }; /* the longest escape of one character: \ud800\udc00 in JSON */

static size_t lead_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

static bool stays(enum tc_clean how, uint32_t point)
{
    if (point == '\n')
        return how != TC_CLEAN_LINE;
    if (point == '\t')
        return how == TC_CLEAN_TEXT || how == TC_CLEAN_OUTPUT;
    return point == '\r' && how == TC_CLEAN_OUTPUT;
}

struct range {
    uint32_t first, last;
};

static const struct range harmful[] = {TC_UNSHOWN, {0}}, forms[] = {TC_UNSHOWN_FORMS, {0}};

static bool within(const struct range *list, uint32_t point)
{
    for (; list->last; list++)
        if (point >= list->first && point <= list->last)
            return true;
    return false;
}

/* Can a variation selector follow this character? A selector after another one, or after an ASCII
 * letter, displays nothing; a row of them could hide a text. */
static bool has_forms(uint32_t point)
{
    return point < 0x80 ? point && strchr("#*0123456789", (int)point) : !within(forms, point);
}

static bool is_escaped(enum tc_clean how, uint32_t before, uint32_t point)
{
    if (point >= 0x20 && point < 0x7f)
        return false;
    return within(harmful, point) ||
           (within(forms, point) && (how == TC_CLEAN_LINE || !has_forms(before)));
}

static char *escape(enum tc_clean how, char *to, uint32_t point, bool character)
{
    char text[LONGEST_ESCAPE + 1];
    int n;
    if (how == TC_CLEAN_JSON && point >= 0x10000)
        n = snprintf(text, sizeof(text), "\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
                     0xdc00 + (point & 0x3ff));
    else if (how == TC_CLEAN_JSON)
        n = snprintf(text, sizeof(text), "\\u%04x", character ? point : 0xfffd);
    else
        n = snprintf(text, sizeof(text), character && point >= 0x80 ? "\\u{%x}" : "\\x%02x", point);
    return mempcpy(to, text, (size_t)n);
}

char *tc_clean(enum tc_clean how, const char *bytes, size_t length, size_t *ret_length)
{
    if (length >= SIZE_MAX / LONGEST_ESCAPE)
        return NULL;
    char *out = malloc(length * LONGEST_ESCAPE + 1);
    if (!out)
        return NULL;
    char *to = out;
    uint32_t before = 0;
    for (size_t at = 0, n; at < length; at += n ? n : 1) {
        uint32_t point;
        n = tc_utf8_decode(bytes + at, length - at, &point);
        if (n && (stays(how, point) || !is_escaped(how, before, point)))
            to = mempcpy(to, bytes + at, n);
        else
            to = escape(how, to, n ? point : (unsigned char)bytes[at], n > 0);
        before = point;
    }
    *to = '\0';
    if (ret_length)
        *ret_length = (size_t)(to - out);
    return out;
}

/* The number of trailing bytes that may start an incomplete character. */
static size_t cut_tail(const char *bytes, size_t length)
{
    for (size_t n = 1; n <= 3 && n <= length; n++) {
        char c = bytes[length - n];
        if (!tc_utf8_inside(c))
            return lead_length((unsigned char)c) > n ? n : 0;
    }
    return 0;
}

char *tc_clean_piece(struct tc_clean_held *held, const char *bytes, size_t length,
                     size_t *ret_length)
{
    _autofree_ char *whole = malloc(held->count + length + 1);
    if (!whole)
        return NULL;
    memcpy(whole, held->bytes, held->count);
    memcpy(whole + held->count, bytes, length);
    size_t total = held->count + length, tail = cut_tail(whole, total);
    char *out = tc_clean(TC_CLEAN_OUTPUT, whole, total - tail, ret_length);
    if (!out)
        return NULL;
    memcpy(held->bytes, whole + total - tail, tail);
    held->count = tail;
    return out;
}

/* ---- lines that start like toolcage's own ---- */

static const char *const ours[] = {"toolcage:", "hint:", "run it?"};
static const char erase[] = "\x1b[K"; /* erases from the cursor to the end of the line */

bool tc_cli_draws(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static void start_line(struct tc_origin_prefix *m)
{
    *m = (struct tc_origin_prefix){.plain = m->plain, .by = m->by};
}

/* Does this character complete a prefix of toolcage's lines? */
static bool is_ours(const struct tc_origin_prefix *m, char c)
{
    for (size_t i = 0; i < TC_COUNT(ours); i++)
        if (strlen(ours[i]) == m->column + 1 && ours[i][m->column] == c &&
            !memcmp(ours[i], m->begun, m->column))
            return true;
    return false;
}

static void put_char(struct tc_origin_prefix *m, FILE *out, char c)
{
    if (m->returned &&
        !m->plain) /* otherwise the rest of the old line would be read as part of this one */
        (void)fputs(erase, out);
    m->returned = false;
    if (!m->other && is_ours(m, c)) {
        (void)fprintf(out, " (said by the %s)", m->by ? m->by : "tool");
        m->other = true;
    }
    m->other = m->other || m->column == sizeof(m->begun);
    if (!m->other && (unsigned char)c < 0x80) /* other characters may be invisible */
        m->begun[m->column++] = c;
    (void)fputc(c, out);
}

char *tc_origin_prefix_lines(struct tc_origin_prefix *mark, const char *bytes, size_t length,
                             size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '\n' || c == '\r') {
            bool returned = c == '\r' && (mark->column || mark->other || mark->returned);
            start_line(mark);
            mark->returned = returned;
            (void)fputc(c, out);
        } else {
            put_char(mark, out, c);
        }
    }
    return tc_cli_text(out, &text);
}
