/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Filters the output of an interactive tool for the user's terminal. Sequences that draw are passed
 * unchanged. Sequences that set the clipboard or the title, read files, print, or make the terminal
 * send text that the tool chose are dropped. */
#ifndef TC_CLI_SHOW_SCREEN_H
#define TC_CLI_SHOW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum tc_screen_state {
    TC_SCREEN_TEXT,
    TC_SCREEN_ESCAPE,
    TC_SCREEN_CONTROL, /* CSI … */
    TC_SCREEN_STRING,  /* OSC, DCS and similar, dropped up to their end */
    TC_SCREEN_STRING_ESCAPE,
    TC_SCREEN_CHARACTER, /* the rest of a multi-byte character */
};

struct tc_screen {
    enum tc_screen_state state;
    char held[64]; /* the sequence so far */
    size_t count;
    size_t missing; /* remaining bytes of the character */
    bool overlong;  /* the sequence is dropped */
    bool alternate; /* the alternate screen is displayed */
    bool asked;     /* a query was passed: the terminal's reply may be pending */
    bool in_line;   /* the cursor is not at the start of a line */
};

/* Appends the bytes that pass to `to`, which has room for TC_SCREEN_ROOM(length); returns their
 * number. */
#define TC_SCREEN_ROOM(length) ((length) + sizeof(((struct tc_screen *)0)->held))
size_t tc_screen_filter(struct tc_screen *screen, const char *bytes, size_t length, char *to);
/* The sequence that resets the terminal: static text. */
const char *tc_screen_reset(const struct tc_screen *screen);

#endif
