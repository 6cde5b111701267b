/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rows of a question: a label, a bar, and a value as JSON, which a model may have chosen. A row is
 * shorter than a terminal of 80 columns, so that a value cannot pass for another row or for a
 * question of toolcage. */
#ifndef TC_CLI_CALL_ROWS_H
#define TC_CLI_CALL_ROWS_H

#include <stdbool.h>
#include <stdio.h>

#include "mcp/scan.h"

/* Input that no approval covers. */
#define TC_SUBJECT_PIPE "  input      standard input, which is not shown here\n"

/* All of it (`whole`), or what fits; then `cut` says that something is left out. */
struct tc_rows {
    FILE *out;
    bool whole, cut;
    size_t count;
};

void tc_rows_put(struct tc_rows *rows, const char *label, struct tc_slice value);
/* The same for toolcage's words. */
void tc_rows_say(struct tc_rows *rows, const char *label, const char *words);

#endif
