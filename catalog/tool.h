/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shared by the tools of the catalog. Each tool is a separate WebAssembly program: it reads its
 * arguments as one JSON object from stdin, and prints text for a model. Memory is never freed,
 * because the program exits soon. */
#ifndef TC_CATALOG_TOOL_H
#define TC_CATALOG_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes with a 0 after them. */
struct text {
    char *at;
    size_t len;
};

/* Prints the error and what to do, and exits with 1. */
_Noreturn void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *take(void *old, size_t size); /* realloc() that exits on failure */
void append(struct text *to, const void *bytes, size_t length);
void append_text(struct text *to, const char *words);
struct text read_file(const char *path);
/* Overwrites the file, which keeps its name and mode. */
void write_file(const char *path, const struct text *text);

/* A text split into lines. Each includes its line feed, except perhaps the last. Borrowed. */
struct lines {
    struct text *items;
    size_t count;
};
struct lines split(const struct text *text);

/* ---- json.c ---- */

enum kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum kind kind;
    struct text name; /* a member's name */
    struct text text; /* of a string; or a number as written */
    struct json *items;
    size_t count;
};

/* NULL and the error. */
struct json *json_read(const struct text *text, const char **ret_why);
/* Indents by this many spaces per level; 0: one line. */
void json_write(struct text *to, const struct json *value, int indent);
void json_string(struct text *to, const char *bytes, size_t length);
const struct json *json_member(const struct json *object, const char *name);

/* ---- the tool's arguments ---- */

void read_arguments(void);
/* NULL: not given. */
const struct text *argument(const char *name);
const char *argument_text(const char *name, const char *otherwise);
long argument_number(const char *name, long otherwise);
bool argument_true(const char *name);
/* An array of strings. */
const struct json *argument_list(const char *name);

#endif
