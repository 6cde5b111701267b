/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the tools of the catalog share. Each is a WebAssembly program of its own: it reads its
 * arguments as one JSON object from standard input and writes for a model to read. It frees
 * nothing: its end is soon. */
#ifndef TC_CATALOG_TOOL_H
#define TC_CATALOG_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes with a 0 behind them. */
struct text {
    char *at;
    size_t len;
};

/* Says what is wrong and what to do; the end, with exit code 1. */
_Noreturn void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *take(void *old, size_t size); /* realloc() that does not fail */
void append(struct text *to, const void *bytes, size_t length);
void append_text(struct text *to, const char *words);
struct text read_file(const char *path);
/* The whole of it in place: its name and its mode stay. */
void write_file(const char *path, const struct text *text);

/* A text as lines, each with its line feed, the last one perhaps without. Borrowed. */
struct lines {
    struct text *items;
    size_t count;
};
struct lines split(const struct text *text);

/* ---- json.c ---- */

enum kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum kind kind;
    struct text name; /* of a member */
    struct text text; /* a string; a number as it was written */
    struct json *items;
    size_t count;
};

/* NULL and why. */
struct json *json_read(const struct text *text, const char **ret_why);
/* With line feeds and this many blanks for each level; 0: in one line. */
void json_write(struct text *to, const struct json *value, int indent);
void json_string(struct text *to, const char *bytes, size_t length);
const struct json *json_member(const struct json *object, const char *name);

/* ---- the tool's own arguments ---- */

void read_arguments(void);
/* NULL: it was not given. */
const struct text *argument(const char *name);
const char *argument_text(const char *name, const char *otherwise);
long argument_number(const char *name, long otherwise);
bool argument_true(const char *name);
/* Of an array of strings. */
const struct json *argument_list(const char *name);

#endif
