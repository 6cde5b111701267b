/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the library's JSON in columns: scalars next to their name, lists of objects as rows. The
 * only special field is "line", which is printed with the preceding "key". */
#ifndef TC_CLI_SHOW_TABLE_H
#define TC_CLI_SHOW_TABLE_H

#include <stdio.h>

#include "cli/show/json.h"

/* Writes each member below the previous one, except those in `skip` (NULL-terminated). False: out
 * of memory. */
bool tc_table_object(FILE *out, struct tc_slice object, const char *const skip[]);

/* "12 KiB", rounded up. */
void tc_table_size(char *to, size_t size, int64_t bytes);

#endif
