/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Colours of our own lines: the one place that decides whether there are any. What is painted has
 * been made harmless before, so whatever a tool wrote in it can only be text. */
#ifndef TC_CLI_SHOW_COLOR_H
#define TC_CLI_SHOW_COLOR_H

#include <stdbool.h>

/* How a line tells what it is. */
enum tc_paint {
    TC_PAINT_NOTHING,
    TC_PAINT_ROWS,     /* not at all: columns */
    TC_PAINT_DIFF,     /* unified diffs */
    TC_PAINT_SIGNS,    /* "+" and "-" in front of a list's lines */
    TC_PAINT_STATES,   /* "ok", "no" and "not ok" in front */
    TC_PAINT_TAP,      /* the same, of tests */
    TC_PAINT_FINDINGS, /* "FILE:LINE:COLUMN: error: …" and what is below it */
};

/* --color: "auto", "always" or "never"; false: another word. */
bool tc_color_set(const char *when);
/* Does what goes there have colours? "auto": a terminal that takes sequences, and no NO_COLOR. */
bool tc_color_on(int fd);
/* The text with colours for `fd`. Owned, NULL without memory. */
char *tc_color_paint(enum tc_paint paint, int fd, const char *text);

#endif
