/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the library's JSON in columns: scalars next to their name, lists of objects as rows. Some
 * members are printed in their own way: "access" is the first column, "line" and "file" are part of
 * the cell of "key", the cells of "from", "by" and "over" start with that name, and an unset
 * "value" is "unset". */
#ifndef TC_CLI_SHOW_TABLE_H
#define TC_CLI_SHOW_TABLE_H

#include <stdio.h>

#include "cli/show/json.h"

/* Prints each member of the object on a new line; leaves out those named in `skip`
 * (NULL-terminated, or NULL: none). False: out of memory. */
bool tc_table_object(FILE *out, struct tc_slice object, const char *const skip[]);

/* Writes a size in bytes with a binary unit, as in "12 KiB", rounded up. */
void tc_table_size(char *to, size_t size, int64_t bytes);

#endif
