/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON in place: a value is a slice of the text it came in, so that what is only looked at goes on
 * byte for byte, numbers of any length included. tc_scan_valid() is strict; everything else relies
 * on it having said yes. */
#ifndef TC_MCP_SCAN_H
#define TC_MCP_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct tc_slice {
    const char *at; /* NULL: absent */
    size_t length;
};

/* One JSON value and nothing else: UTF-8, whole surrogate pairs, 512 levels at most. */
bool tc_scan_valid(const char *text, size_t length);
/* That value, without the blanks around it; absent when the text is not valid. */
struct tc_slice tc_scan_whole(const char *text, size_t length);

struct tc_scan_each {
    const char *rest, *end;
    struct tc_slice key; /* with its quotes; absent in arrays */
    struct tc_slice value;
};

/* Walks an array or object: while (tc_scan_next(&each)). */
struct tc_scan_each tc_scan_walk(struct tc_slice container);
bool tc_scan_next(struct tc_scan_each *each);

bool tc_scan_is_string(struct tc_slice value);
bool tc_scan_is_object(struct tc_slice value);
bool tc_scan_is_array(struct tc_slice value);
/* What a string stands for, with a NUL after it: owned. NULL: no string, or no memory. */
char *tc_scan_text(struct tc_slice string, size_t *ret_length);
/* Does the string say exactly `word` (ASCII)? */
bool tc_scan_is(struct tc_slice string, const char *word);
/* ... or what a reader that ignores case takes for it? */
bool tc_scan_folds(struct tc_slice string, const char *word);

/* Exactly one member, or none and *ret is absent. False when there are two, or one that a reader
 * that ignores case takes for it: then readers disagree on what the object says. */
bool tc_scan_member(struct tc_slice object, const char *key, struct tc_slice *ret);

#endif
