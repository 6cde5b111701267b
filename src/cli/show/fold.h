/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Text, broken between words for the terminal that shows it. */
#ifndef TC_CLI_SHOW_FOLD_H
#define TC_CLI_SHOW_FOLD_H

#include <stddef.h>

/* The columns of this terminal, 80 where it does not say; 0: it is none, and what reads there wants
 * whole lines. */
size_t tc_fold_width(int fd);
/* How long our own lines on standard output are: `most`, or what a narrower terminal has. */
int tc_fold_most(int most);
/* Help: the text with no line longer than `width`: lines of a paragraph run on, a description goes
 * on below its beginning, a command to copy stays one line. Owned, NULL without memory. */
char *tc_fold(const char *text, size_t width);
/* Rows of a table: what has no room goes on below the second column. As above. */
char *tc_fold_rows(const char *text, size_t width);
/* Findings: a line of the file that has no room goes on below itself, and the marks stay under what
 * they mark. As above. */
char *tc_fold_findings(const char *text, size_t width);

#endif
