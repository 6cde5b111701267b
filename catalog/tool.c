/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>

static struct json *given;

void fail(const char *fmt, ...)
{
    va_list args;
    (void)fflush(stdout);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *take(void *old, size_t size)
{
    void *room = realloc(old, size ? size : 1);
    if (!room)
        fail("out of memory: pass less input, or raise `memory`");
    return room;
}

void append(struct text *to, const void *bytes, size_t length)
{
    /* the size doubles */
    size_t have = to->at ? to->len + 1 : 0, want = to->len + length + 1, room = 64;
    while (room < want)
        room *= 2;
    if (!to->at || room / 2 >= have)
        to->at = take(to->at, room);
    if (length)
        memcpy(to->at + to->len, bytes, length);
    to->len += length;
    to->at[to->len] = '\0';
}

void append_text(struct text *to, const char *words)
{
    append(to, words, strlen(words));
}

static struct text read_stream(FILE *in, const char *name)
{
    struct text all = {0};
    char piece[16384];
    size_t n;
    append(&all, "", 0);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        append(&all, piece, n);
    if (ferror(in))
        fail("%s cannot be read: %s", name, strerror(errno));
    return all;
}

struct text read_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        fail("%s cannot be opened: %s", path, strerror(errno));
    struct text all = read_stream(in, path);
    (void)fclose(in);
    return all;
}

void write_file(const char *path, const struct text *text)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        fail("%s cannot be written: %s", path, strerror(errno));
    bool fine = fwrite(text->at, 1, text->len, out) == text->len;
    if (fclose(out) || !fine)
        fail("%s was written only in part: %s", path, strerror(errno));
}

struct lines split(const struct text *text)
{
    struct lines lines = {0};
    size_t room = 0;
    for (size_t at = 0; at < text->len;) {
        const char *end = memchr(text->at + at, '\n', text->len - at);
        size_t length = end ? (size_t)(end - text->at) + 1 - at : text->len - at;
        if (lines.count == room) {
            room = room ? 2 * room : 64;
            lines.items = take(lines.items, room * sizeof(*lines.items));
        }
        lines.items[lines.count++] = (struct text){text->at + at, length};
        at += length;
    }
    return lines;
}

void read_arguments(void)
{
    const char *why = NULL;
    struct text all = read_stream(stdin, "the arguments");
    given = json_read(&all, &why);
    if (!given || given->kind != JSON_OBJECT)
        fail("the arguments must be one JSON object on standard input: %s",
             why ? why : "it is not one");
}

const struct text *argument(const char *name)
{
    const struct json *value = json_member(given, name);
    return value && value->kind == JSON_STRING ? &value->text : NULL;
}

const char *argument_text(const char *name, const char *otherwise)
{
    const struct text *text = argument(name);
    if (text && strlen(text->at) != text->len)
        fail("%s must not contain a NUL byte", name);
    if (!text && !otherwise)
        fail("%s is missing", name);
    return text ? text->at : otherwise;
}

long argument_number(const char *name, long otherwise)
{
    const struct json *value = json_member(given, name);
    return value && value->kind == JSON_NUMBER ? strtol(value->text.at, NULL, 10) : otherwise;
}

bool argument_true(const char *name)
{
    const struct json *value = json_member(given, name);
    return value && value->kind == JSON_TRUE;
}

const struct json *argument_list(const char *name)
{
    const struct json *value = json_member(given, name);
    if (!value || value->kind != JSON_ARRAY || !value->count)
        fail("%s must be an array with at least one string", name);
    for (size_t i = 0; i < value->count; i++)
        if (value->items[i].kind != JSON_STRING)
            fail("%s must contain only strings", name);
    return value;
}
