/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Structs filled by their tables: each field says something, and one of them, if asked for, says
 * something else. A place is a field that holds a value, in an array that of its first element.
 * Descriptors are the same where both are there. */
#ifndef TC_TEST_FIELDS_H
#define TC_TEST_FIELDS_H

#include <stdio.h>
#include <string.h>

#include "base/field.h"

struct filling {
    int other;     /* which place says something else; -1: none */
    int64_t value; /* what, when it is a number */
    int places;    /* how many were filled */
    char name[96]; /* of that place, and what the rows on the way to it say */
    unsigned flags;
};

static inline void fill(const struct tc_fields *fields, void *it, struct filling *f,
                        const char *prefix, unsigned flags);

/* An array of nothing is something else than one of something. */
static inline void fill_array(const struct tc_field *row, void *it, bool empty, struct filling *f,
                              const char *name, unsigned flags)
{
    void *element = empty ? NULL : calloc(1, row->of->size);
    *(void **)(void *)((char *)it + row->offset) = element;
    *(size_t *)(void *)((char *)it + row->count) = !empty;
    if (element)
        fill(row->of, element, f, name, flags);
}

static inline void fill_texts(char ***at, const char *text)
{
    *at = calloc(2, sizeof(**at));
    assert_non_null(*at);
    assert_non_null((*at)[0] = strdup(text));
}

static inline void fill(const struct tc_fields *fields, void *it, struct filling *f,
                        const char *prefix, unsigned flags)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct tc_field *row = &fields->rows[i];
        void *at = (char *)it + row->offset;
        char name[sizeof(f->name)];
        bool place = row->kind != TC_FIELD_STRUCT && row->kind != TC_FIELD_OTHER;
        bool other = place && f->places++ == f->other;
        const char *text = other ? "/b" : "/a";
        int length = snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "", row->name);
        assert_in_range(length, 1, sizeof(name) - 1);
        if (other) {
            memcpy(f->name, name, sizeof(name));
            f->flags = flags | row->flags;
        }
        if (row->kind == TC_FIELD_NUMBER)
            assert_true(tc_field_set(row, it, other ? f->value : 1));
        else if (row->kind == TC_FIELD_BOOL)
            assert_true(tc_field_set(row, it, other));
        else if (row->kind == TC_FIELD_LIST)
            assert_true(tc_strv_add(at, text));
        else if (row->kind == TC_FIELD_ARRAY)
            fill_array(row, it, other, f, name, flags | row->flags);
        else if (row->kind == TC_FIELD_STRUCT)
            fill(row->of, at, f, name, flags | row->flags);
        else if (row->kind == TC_FIELD_TEXTS)
            fill_texts(at, text);
        else if (row->kind == TC_FIELD_FD)
            *(int *)at = other ? (int)f->value : -1;
        else if (row->kind != TC_FIELD_OTHER)
            assert_non_null(*(char **)at = strdup(text));
        if (row->kind == TC_FIELD_BYTES)
            *(size_t *)(void *)((char *)it + row->count) = strlen(text);
    }
}

/* Fills a zeroed struct, with `value` or another text in the place with this number. */
static inline struct filling filled(const struct tc_fields *fields, void *it, int other,
                                    int64_t value)
{
    struct filling f = {.other = other, .value = value};
    fill(fields, it, &f, "", 0);
    return f;
}

static inline bool same_place(const struct tc_field *row, const void *a, const void *b)
{
    const char *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
    const struct tc_strv *v = (const void *)x, *w = (const void *)y;
    if (row->kind == TC_FIELD_NUMBER || row->kind == TC_FIELD_BOOL)
        return tc_field_number(row, a) == tc_field_number(row, b);
    if (row->kind == TC_FIELD_TEXTS)
        return tc_streq(**(char **const *)(const void *)x, **(char **const *)(const void *)y);
    if (row->kind == TC_FIELD_FD)
        return (*(const int *)(const void *)x < 0) == (*(const int *)(const void *)y < 0);
    if (row->kind == TC_FIELD_TEXT || row->kind == TC_FIELD_BYTES)
        return tc_streq(*(char *const *)(const void *)x, *(char *const *)(const void *)y);
    return v->count == w->count && (!v->count || tc_streq(v->items[0], w->items[0]));
}

static inline size_t elements(const struct tc_field *row, const void *it)
{
    return row->kind == TC_FIELD_ARRAY
               ? *(const size_t *)(const void *)((const char *)it + row->count)
               : 0;
}

/* In how many places two structs that were filled so differ; a field by hand counts as one. */
static inline int differing(const struct tc_fields *fields, const void *a, const void *b)
{
    int n = 0;
    for (size_t i = 0; i < fields->count; i++) {
        const struct tc_field *row = &fields->rows[i];
        const char *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
        size_t there = elements(row, a), here = elements(row, b);
        if (row->kind == TC_FIELD_STRUCT)
            n += differing(row->of, x, y);
        else if (there && here)
            n += differing(row->of, *(void *const *)(const void *)x,
                           *(void *const *)(const void *)y);
        else if (row->kind == TC_FIELD_ARRAY)
            n += there != here;
        else
            n += row->kind == TC_FIELD_OTHER || !same_place(row, a, b);
    }
    return n;
}

#endif
