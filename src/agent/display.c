/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Renders a call's arguments on the terminal of the person who approves it. */
#include "agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/clean.h"
#include "text/utf8.h"

/* A longer run of blanks is printed as its count. */
enum { BLANKS_MOST = 24, TAB = 8, WIDTH_LEAST = 20 };

struct page {
    FILE *out;
    size_t width, column;
    bool failed;
};

/* The length of the escaped character at `at`; *ret is its code point. */
static size_t decode(const char *at, const char *end, uint32_t *ret)
{
    size_t length = tc_utf8_decode(at, (size_t)(end - at), ret);
    return length ? length : 1;
}

/* Is the code point displayed as empty space? */
static bool is_blank(uint32_t point)
{
    static const uint32_t others[] = {' ', '\t', 0xa0, 0x1680, 0x202f, 0x205f, 0x2800, 0x3000};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (point == others[i])
            return true;
    return point >= 0x2000 && point <= 0x200a;
}

/* The number of blanks at `at`; *ret is the end of them. */
static size_t count_blanks(const char *at, const char *end, const char **ret)
{
    size_t count = 0;
    uint32_t point;
    for (size_t n; at < end; at += n, count++) {
        n = decode(at, end, &point);
        if (!is_blank(point))
            break;
    }
    *ret = at;
    return count;
}

/* The maximum width on any terminal. A line that is too long would hide its end; a line that is
 * broken early hides nothing. */
static size_t columns_of(uint32_t point)
{
    return point == '\t' ? TAB : point < 0x80 ? 1 : 2;
}

static void put_bytes(struct page *p, const char *bytes, size_t length, size_t columns)
{
    if (p->column + columns > p->width) {
        (void)fputs("\n  : ", p->out);
        p->column = 4;
    }
    p->column += columns;
    (void)fwrite(bytes, 1, length, p->out);
}

/* `clean` contains no line break. */
static void put_clean(struct page *p, const char *clean, size_t length)
{
    const char *end = clean + length, *behind;
    for (const char *at = clean; at < end;) {
        char counted[40];
        uint32_t point;
        size_t blanks = count_blanks(at, end, &behind);
        if (blanks > BLANKS_MOST) {
            int n = snprintf(counted, sizeof(counted), "[%zu blanks]", blanks);
            put_bytes(p, counted, (size_t)n, (size_t)n);
            at = behind;
            continue;
        }
        size_t n = decode(at, end, &point);
        put_bytes(p, at, n, columns_of(point));
        at += n;
    }
}

/* Writes one line of a value. Tabs are kept. */
static void put_text(struct page *p, const char *text, size_t length)
{
    char *whole = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&whole, &size);
    for (const char *at = text, *end = text + length; out && at <= end;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        char *clean = tc_clean(TC_CLEAN_LINE, at, (size_t)(stop - at), NULL);
        p->failed = p->failed || !clean;
        (void)fputs(clean ? clean : "", out);
        if (tab)
            (void)fputc('\t', out);
        free(clean);
        at = stop + 1;
    }
    if (!out || fclose(out) != 0)
        p->failed = true;
    if (!p->failed)
        put_clean(p, whole, size);
    free(whole);
}

static void begin_line(struct page *p, const char *margin)
{
    (void)fputs(margin, p->out);
    p->column = strlen(margin);
}

/* Writes each line after the margin. A trailing line break starts no further line. */
static void put_lines(struct page *p, const char *text, size_t length)
{
    const char *end = text + length;
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        begin_line(p, "  | ");
        put_text(p, at, (size_t)(stop - at));
        (void)fputc('\n', p->out);
        at = stop + 1;
    }
}

static size_t count_lines(const char *text, size_t length)
{
    size_t count = 0;
    for (const char *at = text, *end = text + length; at < end; count++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    return count;
}

/* Is the text the same when printed between quotes? */
static bool is_quotable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\')
            return false;
    return true;
}

static void put_json(struct page *p, const char *name, const json_t *value)
{
    char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    size_t length = json ? strlen(json) : 0;
    bool one = json && !strchr(json, '\n');
    p->failed = p->failed || !json;
    begin_line(p, "  ");
    put_text(p, name, strlen(name));
    put_text(p, one ? ": " : ":", one ? 2 : 1);
    put_text(p, one ? json : "", one ? length : 0);
    (void)fputc('\n', p->out);
    if (json && !one)
        put_lines(p, json, length);
    free(json);
}

static void put_string(struct page *p, const char *name, const json_t *value)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value), lines = count_lines(text, length);
    char counted[40];
    if (is_quotable(text, length)) {
        put_json(p, name, value);
        return;
    }
    begin_line(p, "  ");
    put_text(p, name, strlen(name));
    int n = snprintf(counted, sizeof(counted), ": %zu line%s", lines, lines == 1 ? "" : "s");
    put_text(p, counted, (size_t)n);
    (void)fputc('\n', p->out);
    put_lines(p, text, length);
}

/* The name as it is if it is unambiguous, else quoted. */
static char *name_of(const char *key)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    json_t *text = *key && !key[strspn(key, plain)] ? NULL : json_string(key);
    char *name = text ? json_dumps(text, JSON_ENCODE_ANY) : strdup(key);
    json_decref(text);
    return name;
}

char *tc_agent_display_arguments(json_t *arguments, size_t width)
{
    char *text = NULL;
    size_t size = 0;
    struct page p = {.out = open_memstream(&text, &size),
                     .width = width < WIDTH_LEAST ? WIDTH_LEAST : width};
    const char *key;
    json_t *value;
    if (!p.out)
        return NULL;
    if (!json_object_size(arguments))
        (void)fputs("  no arguments\n", p.out);
    json_object_foreach(arguments, key, value)
    {
        char *name = name_of(key);
        p.failed = p.failed || !name;
        if (name && json_is_string(value))
            put_string(&p, name, value);
        else if (name)
            put_json(&p, name, value);
        free(name);
    }
    bool whole = fclose(p.out) == 0 && !p.failed;
    if (whole)
        return text;
    free(text);
    return NULL;
}
