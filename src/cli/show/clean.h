/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Escapes text for a terminal and its reader. Control characters, invisible or reordering
 * characters (text/utf8.h) and bytes that are not UTF-8 become \x1b or \u{202e}. Variation
 * selectors are kept, except in TC_CLEAN_LINE. */
#ifndef TC_CLI_SHOW_CLEAN_H
#define TC_CLI_SHOW_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

enum tc_clean {
    TC_CLEAN_LINE,   /* line breaks and tabs are also escaped: the result is one line */
    TC_CLEAN_TEXT,   /* keeps newline and tab */
    TC_CLEAN_OUTPUT, /* keeps newline, tab and carriage return */
    TC_CLEAN_JSON,   /* JSON text: uses JSON's escapes, so that the meaning is unchanged */
};

/* New memory with `*ret_length` bytes and a NUL, or NULL if memory is exhausted. */
char *tc_clean(enum tc_clean how, const char *bytes, size_t length, size_t *ret_length);

/* For a stream in pieces: an incomplete character at the end of a piece is kept for the next piece.
 * */
struct tc_clean_held {
    char bytes[3];
    size_t count;
};
char *tc_clean_piece(struct tc_clean_held *held, const char *bytes, size_t length,
                     size_t *ret_length);

/* Marks lines of a tool or model that start like toolcage's own lines on the same terminal. Lines
 * of toolcage are also bold, because a line that the terminal wrapped may start with anything. */

/* Is it a terminal that supports escape sequences? */
bool tc_cli_draws(int fd);

/* The state of both output streams together, because the reader sees one. All zero at the start of
 * a line. */
struct tc_origin_prefix {
    size_t column; /* bytes of the line so far, while it may match a prefix */
    char begun[16];
    bool other;     /* matches no prefix */
    bool plain;     /* the terminal supports no escape sequences; set once by the owner */
    const char *by; /* the author; NULL: the tool; set once by the owner */
    bool returned;  /* a carriage return was the last character */
};

/* `bytes` must be escaped already. Owned, NULL if memory is exhausted. */
char *tc_origin_prefix_lines(struct tc_origin_prefix *mark, const char *bytes, size_t length,
                             size_t *ret_length);

#endif
