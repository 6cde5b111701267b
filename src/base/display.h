/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Text that somebody else chose (a path, a name, an argument) inside a line of ours that a person
 * or a model reads. */
#ifndef TC_BASE_DISPLAY_H
#define TC_BASE_DISPLAY_H

#include <stdint.h>

#include "base/buf.h"
#include "text/shell.h"

/* Adds the text so that it stays within its line and shows all it has: control characters, line
 * breaks too, those that reorder or hide text, and bytes that are not UTF-8 come escaped, \x0a or
 * \u{202e}. */
void tc_buf_add_display(struct tc_buf *buf, const char *text);
/* The same as fresh memory, NULL when there is none. */
char *tc_display(const char *text);
/* The length of the character at `at` if it is one of those, and which; 0: it stands for itself. */
size_t tc_harmful(const char *at, uint32_t *ret_point);

#endif
