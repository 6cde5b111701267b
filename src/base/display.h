/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Escaping of untrusted text (a path, a name, an argument) inside a line for a person or a
 * model. */
#ifndef TC_BASE_DISPLAY_H
#define TC_BASE_DISPLAY_H

#include <stdint.h>

#include "base/buf.h"
#include "text/shell.h"

/* Adds the text in one line with every character visible: control characters (including line
 * breaks), characters that reorder or hide text, and bytes that are not UTF-8 are escaped as
 * \x0a or \u{202e}. */
void tc_buf_add_display(struct tc_buf *buf, const char *text);
/* The same as a new string, NULL when out of memory. */
char *tc_display(const char *text);
/* The length in bytes of the character at `at` if it must be escaped, with its code point; 0: it
 * need not be escaped. */
size_t tc_harmful(const char *at, uint32_t *ret_point);

#endif
