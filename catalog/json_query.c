/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Formats a JSON file, or prints the values at a JSON Pointer (RFC 6901), in which "*" matches
 * every member or element. */
#include "tool.h"

static struct text out;
static size_t hits;

/* The next part of the pointer, with ~0 and ~1 decoded; *ret_rest is the text after it. */
static struct text part(const char *pointer, const char **ret_rest)
{
    struct text name = {0};
    size_t n = strcspn(pointer, "/");
    append(&name, "", 0);
    for (size_t i = 0; i < n; i++) {
        bool escaped = pointer[i] == '~' && (pointer[i + 1] == '0' || pointer[i + 1] == '1');
        append(&name, escaped ? (pointer[i + 1] == '0' ? "~" : "/") : &pointer[i], 1);
        i += escaped;
    }
    *ret_rest = pointer + n;
    return name;
}

/* The element at an index without leading zeros. */
static const struct json *element(const struct json *array, const struct text *name)
{
    bool number = name->len && strspn(name->at, "0123456789") == name->len && name->len < 10 &&
                  (name->at[0] != '0' || name->len == 1);
    size_t index = number ? strtoul(name->at, NULL, 10) : array->count;
    return index < array->count ? &array->items[index] : NULL;
}

static void query(const struct json *value, const char *pointer)
{
    if (!*pointer) {
        json_write(&out, value, 0);
        append(&out, "\n", 1);
        hits++;
        return;
    }
    const char *rest;
    struct text name = part(pointer + 1, &rest);
    if (strcmp(name.at, "*") == 0) {
        for (size_t i = 0; value->kind >= JSON_ARRAY && i < value->count; i++)
            query(&value->items[i], rest);
        return;
    }
    const struct json *next =
        value->kind == JSON_ARRAY ? element(value, &name) : json_member(value, name.at);
    if (next)
        query(next, rest);
}

int main(void)
{
    read_arguments();
    const char *path = argument_text("path", NULL), *why = NULL;
    const char *pointer = argument_text("query", ""), *action = argument_text("action", "query");
    struct text file = read_file(path);
    const struct json *value = json_read(&file, &why);
    if (!value)
        fail("%s is not JSON: %s", path, why);
    if (*pointer && *pointer != '/')
        fail("query must be a JSON Pointer, as in /items/0/name or /items/*/name");
    if (strcmp(action, "format") == 0)
        json_write(&out, value, 2), append(&out, "\n", 1);
    else if (query(value, pointer), !hits)
        fail("nothing is at %s", pointer);
    return fwrite(out.at, 1, out.len, stdout) == out.len ? 0 : 1;
}
