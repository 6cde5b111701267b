/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Breaks text between words for the width of a terminal. */
#ifndef TC_CLI_SHOW_FOLD_H
#define TC_CLI_SHOW_FOLD_H

#include <stddef.h>

/* The width of this terminal, 80 if unknown; 0: not a terminal, lines are not broken. */
size_t tc_fold_width(int fd);
/* The line width for standard output: `most`, or the width of a narrower terminal. */
int tc_fold_most(int most);
/* Help text with at most `width` columns. Paragraphs are re-flowed, a description continues below
 * its start, and commands are not broken. Owned, NULL if memory is exhausted. */
char *tc_fold(const char *text, size_t width);
/* Table rows: a long row continues below its second column. Owned, as above. */
char *tc_fold_rows(const char *text, size_t width);
/* Findings: a long quoted line continues below itself, and marks stay below the text that they
 * mark. Owned, as above. */
char *tc_fold_findings(const char *text, size_t width);

#endif
