/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Patterns of JSON Schema: the part of ECMA-262 (with the flag u) that is read here in one way
 * only, brought into PCRE2's words. A match is never trusted to end: it has a budget of steps. */
#ifndef TC_SCHEMA_PATTERN_H
#define TC_SCHEMA_PATTERN_H

#include "base/buf.h"
#include "base/error.h"

/* Of the pattern's text, and of a text that is held against one. */
enum { TC_PATTERN_BYTES_MAX = 1024, TC_PATTERN_SUBJECT_MAX = 64 << 10 };

struct tc_pattern;

enum tc_pattern_verdict {
    TC_PATTERN_FITS,
    TC_PATTERN_DIFFERS,
    TC_PATTERN_COSTLY, /* the budget is spent, or the text is too long */
    TC_PATTERN_MEMORY,
};

/* In PCRE2's words, and whether one step may scan far. False after filling the complaint, which
 * names the construct. */
bool tc_pattern_translate(const char *text, struct tc_buf *out, bool *ret_scans,
                          struct tc_complaint *c);
/* TOOLCAGE_EPOLICY after filling the complaint, or TOOLCAGE_EMEMORY. One may be matched by many
 * threads. */
int tc_pattern_new(const char *text, struct tc_pattern **ret, struct tc_complaint *c);
void tc_pattern_free(struct tc_pattern *pattern); /* NULL is fine */
/* Among some that are in order of their texts: is it there, and where, or where would it be? */
bool tc_pattern_find(struct tc_pattern *const *patterns, size_t count, const char *text,
                     size_t *place);
/* In bytes, ready for use. */
size_t tc_pattern_size(const struct tc_pattern *pattern);
const char *tc_pattern_text(const struct tc_pattern *pattern); /* borrows */
/* Does it match anywhere in the text? Takes from *budget what it cost at most. */
enum tc_pattern_verdict tc_pattern_match(const struct tc_pattern *pattern, const char *text,
                                         size_t len, uint64_t *budget);

#endif
