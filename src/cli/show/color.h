/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Decides whether output is coloured, and colours it. Escape sequences of a tool cannot take
 * effect, because the text was escaped before. */
#ifndef TC_CLI_SHOW_COLOR_H
#define TC_CLI_SHOW_COLOR_H

#include <stdbool.h>

/* The format of a text, which determines the colour of each line. */
enum tc_paint {
    TC_PAINT_NOTHING,  /* no line is coloured */
    TC_PAINT_ROWS,     /* columns; no line is coloured */
    TC_PAINT_DIFF,     /* unified diffs */
    TC_PAINT_SIGNS,    /* lists whose lines start with "+" or "-" */
    TC_PAINT_STATES,   /* lines that start with "ok", "no" or "not ok" */
    TC_PAINT_TAP,      /* the same for test results */
    TC_PAINT_FINDINGS, /* "FILE:LINE:COLUMN: error: …" and the lines below it */
};

/* --color: "auto", "always" or "never"; false: another value. */
bool tc_color_set(const char *when);
/* Is output to `fd` coloured? "auto": if it is a terminal that supports escape sequences and
 * NO_COLOR is not set. */
bool tc_color_on(int fd);
/* The text, coloured if output to `fd` is. Owned; NULL: out of memory. */
char *tc_color_paint(enum tc_paint paint, int fd, const char *text);

#endif
