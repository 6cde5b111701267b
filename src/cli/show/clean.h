/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes text harmless for a terminal and for whoever reads it there. No control character stays,
 * none that reorders or hides what is shown (text/unshown.h), and no byte outside UTF-8: they
 * become \x1b or \u{202e}. What chooses a form of the sign
 * before it stays, except in a line. */
#ifndef TC_CLI_SHOW_CLEAN_H
#define TC_CLI_SHOW_CLEAN_H

#include <stddef.h>

enum tc_clean {
    TC_CLEAN_LINE,   /* line breaks and tabs are escaped too: it stays one line */
    TC_CLEAN_TEXT,   /* newline and tab stay */
    TC_CLEAN_OUTPUT, /* newline, tab and carriage return stay */
    TC_CLEAN_JSON,   /* JSON text: the escapes are JSON's, so that it means the same */
};

/* Fresh memory with `*ret_length` bytes and a NUL, or NULL without memory. */
char *tc_clean(enum tc_clean how, const char *bytes, size_t length, size_t *ret_length);

/* A stream that comes in pieces: a character cut by the end of one is held back for the next. */
struct tc_clean_held {
    char bytes[3];
    size_t count;
};
char *tc_clean_piece(struct tc_clean_held *held, const char *bytes, size_t length,
                     size_t *ret_length);

#endif
