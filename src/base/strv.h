/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Vectors of owned strings, NULL-terminated so that argv and envp are one of them. */
#ifndef TC_BASE_STRV_H
#define TC_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "text/near.h"

struct tc_strv {
    char **items; /* NULL-terminated once anything was added; NULL before */
    size_t count;
};

/* Adds a copy; false when out of memory. */
bool tc_strv_add(struct tc_strv *v, const char *text);
/* Takes the string, also on failure (frees it then); a NULL string is a failure. */
bool tc_strv_take(struct tc_strv *v, char *text);
bool tc_strv_copy(struct tc_strv *to, const struct tc_strv *from);
/* The same strings in the same order? */
bool tc_strv_same(const struct tc_strv *a, const struct tc_strv *b);
bool tc_strv_has(const struct tc_strv *v, const char *text);
/* The value of the first "NAME=value" with this name; NULL: none has it. Borrows. */
const char *tc_strv_value(const struct tc_strv *v, const char *name);
/* The same in an environment (NULL-terminated; may be NULL). */
const char *tc_variable(const char *const *environment, const char *name);
/* Sets "NAME=value"; false when out of memory. */
bool tc_strv_put(struct tc_strv *v, const char *name, const char *value);
/* Sorts by bytes. */
void tc_strv_sort(struct tc_strv *v);
void tc_strv_done(struct tc_strv *v);
/* Orders elements of type char * by bytes, for qsort() and bsearch(). */
int tc_order_texts(const void *a, const void *b);

#define _autostrv_ _auto_(tc_strv_done)

/* Room for one more element in an array of `count`, doubling at powers of two: the (possibly moved)
 * array, or NULL with the old one intact. New elements are zeroed. */
void *tc_array_grow(void *items, size_t count, size_t size);

/* Array push: grows `items` (an lvalue) by one zeroed element and returns its address, or NULL. */
#define TC_PUSH(items, count)                                                          \
    ({                                                                                 \
        __typeof__(items) tc_new_ = tc_array_grow((items), (count), sizeof(*(items))); \
        if (tc_new_)                                                                   \
            (items) = tc_new_;                                                         \
        tc_new_ ? &(items)[(count)++] : NULL;                                          \
    })

bool tc_streq(const char *a, const char *b); /* NULL equals only NULL */
/* Is `word` in `words`? */
bool tc_among(const char *const *words, size_t count, const char *word);
#define TC_AMONG(words, word) tc_among(words, TC_COUNT(words), word)
bool tc_startswith(const char *text, const char *prefix);
/* Do the bytes (may be NULL) contain the text? */
bool tc_contains(const char *bytes, size_t len, const char *text);
bool tc_endswith(const char *text, const char *suffix);
/* Copies at most size-1 bytes and always terminates. */
void tc_strcopy(char *to, size_t size, const char *from);
/* Formats into fresh memory, NULL when out of memory. */
char *tc_format(const char *fmt, ...) TC_PRINTF(1, 2);
/* Is it valid UTF-8 without NUL? */
bool tc_utf8_valid(const char *bytes, size_t len);
/* FNV-1a without a secret, for a table of strings that this process chose. */
uint64_t tc_hash(const char *text);

#endif
