/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an interactive tool may make the person's terminal do. Sequences that draw pass, whole and
 * as they are; what would set the clipboard or a title, read files, print, or make the terminal
 * type words that the tool has chosen is left out. */
#ifndef TC_CLI_SHOW_SCREEN_H
#define TC_CLI_SHOW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum tc_screen_state {
    TC_SCREEN_TEXT,
    TC_SCREEN_ESCAPE,
    TC_SCREEN_CONTROL, /* CSI … */
    TC_SCREEN_STRING,  /* OSC, DCS and the like, left out until they end */
    TC_SCREEN_STRING_ESCAPE,
    TC_SCREEN_CHARACTER, /* the rest of one of several bytes */
};

struct tc_screen {
    enum tc_screen_state state;
    char held[64]; /* the sequence so far */
    size_t count;
    size_t missing; /* bytes of the character */
    bool overlong;  /* the sequence is left out */
    bool alternate; /* the other screen is shown */
    bool asked;     /* a question passed: the terminal's answer may still come */
    bool in_line;   /* the last thing shown was no line's end */
};

/* Appends what passes of the bytes to `to`, which has room for TC_SCREEN_ROOM(length), and returns
 * how much it is. */
#define TC_SCREEN_ROOM(length) ((length) + sizeof(((struct tc_screen *)0)->held))
size_t tc_screen_filter(struct tc_screen *screen, const char *bytes, size_t length, char *to);
/* What brings the terminal back to where a person can work: owned by nobody, static text. */
const char *tc_screen_reset(const struct tc_screen *screen);

#endif
