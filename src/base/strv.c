/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/strv.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "text/utf8.h"

void *tc_array_grow(void *items, size_t count, size_t size)
{
    if (count & (count - 1))
        return items; /* still room: the capacity is the next power of two */
    size_t cap = count ? count * 2 : 1;
    if (cap > SIZE_MAX / size)
        return NULL;
    char *grown = realloc(items, cap * size);
    if (grown)
        memset(grown + count * size, 0, (cap - count) * size);
    return grown;
}

bool tc_strv_take(struct tc_strv *v, char *text)
{
    _autofree_ char *owned = text;
    if (!owned)
        return false;
    if (v->count == 0 || (v->count & (v->count - 1)) == 0) {
        /* room for this one, as many again, and the terminator */
        size_t cap = v->count ? v->count * 2 + 1 : 2;
        char **items = realloc(v->items, cap * sizeof(*items));
        if (!items)
            return false;
        v->items = items;
    }
    v->items[v->count++] = TAKE(owned);
    v->items[v->count] = NULL;
    return true;
}

bool tc_strv_add(struct tc_strv *v, const char *text)
{
    return tc_strv_take(v, strdup(text));
}

bool tc_strv_copy(struct tc_strv *to, const struct tc_strv *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (!tc_strv_add(to, from->items[i]))
            return false;
    return true;
}

int tc_order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tc_strv_sort(struct tc_strv *v)
{
    if (v->count)
        qsort(v->items, v->count, sizeof(*v->items), tc_order_texts);
}

bool tc_strv_same(const struct tc_strv *a, const struct tc_strv *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = tc_streq(a->items[i], b->items[i]);
    return same;
}

bool tc_strv_has(const struct tc_strv *v, const char *text)
{
    for (size_t i = 0; i < v->count; i++)
        if (tc_streq(v->items[i], text))
            return true;
    return false;
}

const char *tc_variable(const char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *pair = environment; pair && *pair; pair++)
        if (strncmp(*pair, name, n) == 0 && (*pair)[n] == '=')
            return *pair + n + 1;
    return NULL;
}

const char *tc_strv_value(const struct tc_strv *v, const char *name)
{
    return tc_variable((const char *const *)v->items, name);
}

bool tc_strv_put(struct tc_strv *v, const char *name, const char *value)
{
    size_t n = strlen(name);
    char *pair = tc_format("%s=%s", name, value);
    for (size_t i = 0; pair && i < v->count; i++) {
        if (strncmp(v->items[i], name, n) != 0 || v->items[i][n] != '=')
            continue;
        free(v->items[i]);
        v->items[i] = pair;
        return true;
    }
    return tc_strv_take(v, pair);
}

void tc_strv_done(struct tc_strv *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->items[i]);
    free(v->items);
    *v = (struct tc_strv){0};
}

bool tc_streq(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool tc_among(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (tc_streq(words[i], word))
            return true;
    return false;
}

bool tc_startswith(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool tc_contains(const char *bytes, size_t len, const char *text)
{
    return bytes && memmem(bytes, len, text, strlen(text));
}

bool tc_endswith(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

void tc_strcopy(char *to, size_t size, const char *from)
{
    size_t len = strnlen(from, size - 1);
    memcpy(to, from, len);
    to[len] = '\0';
}

char *tc_format(const char *fmt, ...)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&buf, fmt, ap);
    va_end(ap);
    return tc_buf_steal(&buf);
}

bool tc_utf8_valid(const char *bytes, size_t len)
{
    uint32_t point;
    for (size_t at = 0, n; at < len; at += n) {
        n = tc_utf8_decode(bytes + at, len - at, &point);
        if (!n || !point)
            return false;
    }
    return true;
}

uint64_t tc_hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}
