/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON of the library as text in columns: scalars beside their name, lists of objects as rows. It
 * knows no field but "line", which is shown with the "key" before it. */
#ifndef TC_CLI_SHOW_TABLE_H
#define TC_CLI_SHOW_TABLE_H

#include <stdio.h>

#include "cli/show/json.h"

/* Each member of the object below the one before. Members named in `skip` (NULL-terminated) are
 * left out. False when memory ran out. */
bool tc_table_object(FILE *out, struct tc_slice object, const char *const skip[]);

/* "12 KiB", rounded up. */
void tc_table_size(char *to, size_t size, int64_t bytes);

#endif
