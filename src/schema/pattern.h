/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Patterns of JSON Schema: the subset of ECMA-262 (flag u) that is unambiguous here, translated to
 * PCRE2 syntax. A match may take exponential time, so it has a budget of steps. */
#ifndef TC_SCHEMA_PATTERN_H
#define TC_SCHEMA_PATTERN_H

#include "base/buf.h"
#include "base/error.h"

/* Maximum size of a pattern, and of a text to match. */
enum { TC_PATTERN_BYTES_MAX = 1024, TC_PATTERN_SUBJECT_MAX = 64 << 10 };

struct tc_pattern;

enum tc_pattern_verdict {
    TC_PATTERN_FITS,
    TC_PATTERN_DIFFERS,
    TC_PATTERN_COSTLY, /* the budget is exhausted, or the text is too long */
    TC_PATTERN_MEMORY,
};

/* Translates a pattern to PCRE2 syntax. *ret_scans: a single step of a match may read the whole
 * text. False: the pattern is invalid or not supported; the complaint names the construct. */
bool tc_pattern_translate(const char *text, struct tc_buf *out, bool *ret_scans,
                          struct tc_complaint *c);
/* TOOLCAGE_EPOLICY after filling the complaint, or TOOLCAGE_EMEMORY. A pattern may be matched by
 * several threads. */
int tc_pattern_new(const char *text, struct tc_pattern **ret, struct tc_complaint *c);
void tc_pattern_free(struct tc_pattern *pattern); /* NULL is fine */
/* Binary search in patterns that are sorted by text: true if found; *place is its index, or where
 * to insert it. */
bool tc_pattern_find(struct tc_pattern *const *patterns, size_t count, const char *text,
                     size_t *place);
/* The size of the compiled pattern in bytes. */
size_t tc_pattern_size(const struct tc_pattern *pattern);
const char *tc_pattern_text(const struct tc_pattern *pattern); /* borrows */
/* Searches the text for a match. Subtracts the cost from *budget: for each attempt the steps that
 * were allowed, even if fewer were needed. */
enum tc_pattern_verdict tc_pattern_match(const struct tc_pattern *pattern, const char *text,
                                         size_t len, uint64_t *budget);

#endif
