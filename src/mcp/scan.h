/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON in place: a value is a slice of the text that contains it, so values that are only inspected
 * are forwarded byte for byte, including numbers of any length. tc_scan_valid() is strict; all
 * other functions require text that it accepted. */
#ifndef TC_MCP_SCAN_H
#define TC_MCP_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct tc_slice {
    const char *at; /* NULL: absent */
    size_t length;
};

/* Is the text exactly one JSON value: valid UTF-8, complete surrogate pairs, at most 512 levels? */
bool tc_scan_valid(const char *text, size_t length);
/* The value without surrounding blanks; absent if the text is not valid. */
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
bool tc_scan_is_null(struct tc_slice value);
bool tc_scan_is_object(struct tc_slice value);
bool tc_scan_is_array(struct tc_slice value);
/* The decoded string with a NUL, owned. NULL: not a string, or out of memory. */
char *tc_scan_text(struct tc_slice string, size_t *ret_length);
/* Is the string exactly `word` (ASCII)? */
bool tc_scan_is(struct tc_slice string, const char *word);
/* Is the string equal to `word` for a reader that ignores case? */
bool tc_scan_folds(struct tc_slice string, const char *word);

/* Does the string begin with `word` for a reader that ignores case? */
bool tc_scan_begins(struct tc_slice string, const char *word);

/* The member `key`; *ret is absent if there is none. False if the key is repeated or another member
 * differs only in case: readers would then disagree about the object. */
bool tc_scan_member(struct tc_slice object, const char *key, struct tc_slice *ret);

#endif
