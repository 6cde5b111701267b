/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Help, broken between words for the terminal that shows it. */
#ifndef TC_CLI_FOLD_H
#define TC_CLI_FOLD_H

#include <stddef.h>

/* The columns of the terminal on standard output; 0: it is none. */
size_t tc_fold_width(void);
/* The text with no line longer than `width`: lines of a paragraph run on, a description goes on
 * below its beginning, a command to copy stays one line. Owned, NULL without memory. */
char *tc_fold(const char *text, size_t width);

#endif
