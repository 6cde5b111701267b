/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes text harmless for a terminal and for whoever reads it there. No control character stays,
 * none that reorders or hides what is shown (text/utf8.h), and no byte outside UTF-8: they
 * become \x1b or \u{202e}. What chooses a form of the sign
 * before it stays, except in a line. */
#ifndef TC_CLI_SHOW_CLEAN_H
#define TC_CLI_SHOW_CLEAN_H

#include <stdbool.h>
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

/* What a tool or a model writes on the terminal that our own lines are on: a line that begins as
 * ours do is marked as theirs. That our lines are bold there, and theirs never, is the other
 * half: a line that the terminal broke may begin with anything. */

/* Is it a terminal that takes sequences? */
bool tc_cli_draws(int fd);

/* Both streams of a tool are one to who looks at them. All zero at the beginning of a line. */
struct tc_origin_prefix {
    size_t column; /* of the line so far, in bytes, as far as it may be one of our beginnings */
    char begun[16];
    bool other;     /* it is none of them */
    bool plain;     /* the terminal takes no sequences: set once, by whoever has it */
    const char *by; /* who says it; NULL: the tool. Set once, as above */
    bool returned; /* the cursor went back to the line's beginning, and nothing was written there */
};

/* `bytes` have been made harmless. Owned, NULL without memory. */
char *tc_origin_prefix_lines(struct tc_origin_prefix *mark, const char *bytes, size_t length,
                             size_t *ret_length);

#endif
