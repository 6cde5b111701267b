/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading the library's own JSON: small objects, walked in place by mcp/scan.h. */
#ifndef TC_CLI_SHOW_JSON_H
#define TC_CLI_SHOW_JSON_H

#include <stdint.h>

#include "cli/cli.h"
#include "mcp/scan.h"

/* The whole text as one value; absent when it is no JSON. */
struct tc_slice tc_json_of(const char *text);
/* Member `key` of an object; absent when there is none. */
struct tc_slice tc_json_get(struct tc_slice object, const char *key);

/* The first object of a list whose member `key` is this text; absent when there is none. */
struct tc_slice tc_json_find(struct tc_slice list, const char *key, const char *text);

/* The text of a string, owned; NULL for anything else. A NUL in it reads as a blank. */
char *tc_json_text(struct tc_slice value);
/* The same for a line of ours: what would break it, or act on a terminal, is escaped. */
char *tc_json_line(struct tc_slice value);
/* The bytes of member `key`, or of the other one, which has them in base64: RFC 4648 with padding
 * and without anything else. Owned, with a NUL behind them; NULL with errno. */
char *tc_json_decoded(struct tc_slice row, const char *key, const char *base64_key,
                      size_t *ret_length);
/* The `path` of a change, whatever bytes it has, as it can stand in a line of ours; owned. */
char *tc_json_path(struct tc_slice row);
/* The same as it is, for nobody to look at. */
char *tc_json_raw_path(struct tc_slice row);
/* The first of two other members. */
char *tc_json_name(struct tc_slice row, const char *key, const char *base64_key);
/* Compares the bytes of two slices, for qsort() and bsearch(). */
int tc_json_order(const void *a, const void *b);
int64_t tc_json_int(struct tc_slice value, int64_t otherwise);
bool tc_json_true(struct tc_slice value);

#endif
