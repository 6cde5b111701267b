/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the library's JSON: small objects, parsed in place by mcp/scan.h. */
#ifndef TC_CLI_SHOW_JSON_H
#define TC_CLI_SHOW_JSON_H

#include <stdint.h>

#include "cli/cli.h"
#include "mcp/scan.h"

/* The whole text as one value; absent if it is not JSON. */
struct tc_slice tc_json_of(const char *text);
/* Member `key` of an object; absent if there is none. */
struct tc_slice tc_json_get(struct tc_slice object, const char *key);

/* The first object in a list whose member `key` equals this text; absent if there is none. */
struct tc_slice tc_json_find(struct tc_slice list, const char *key, const char *text);

/* The text of a string, owned; NULL for other values. A NUL in it becomes a blank. */
char *tc_json_text(struct tc_slice value);
/* The same, escaped for use in one line of output. */
char *tc_json_line(struct tc_slice value);
/* The bytes of member `key`, or of the base64 member: RFC 4648 with padding and no other
 * characters. Owned, followed by a NUL; NULL with errno. */
char *tc_json_decoded(struct tc_slice row, const char *key, const char *base64_key,
                      size_t *ret_length);
/* The `path` of a change, escaped for a line of output; owned. */
char *tc_json_path(struct tc_slice row);
/* The same without escapes, not for display. */
char *tc_json_raw_path(struct tc_slice row);
/* The same for two other members. */
char *tc_json_name(struct tc_slice row, const char *key, const char *base64_key);
/* Compares the bytes of two slices, for qsort() and bsearch(). */
int tc_json_order(const void *a, const void *b);
int64_t tc_json_int(struct tc_slice value, int64_t otherwise);
bool tc_json_true(struct tc_slice value);

#endif
