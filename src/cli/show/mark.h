/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a tool or a model writes on the terminal that our own lines are on: a line that begins as
 * ours do is marked as theirs. That our lines are bold there, and theirs never, is the other
 * half: a line that the terminal broke may begin with anything. */
#ifndef TC_CLI_SHOW_MARK_H
#define TC_CLI_SHOW_MARK_H

#include <stdbool.h>
#include <stddef.h>

/* Is it a terminal that takes sequences? */
bool tc_cli_draws(int fd);

/* Both streams of a tool are one to who looks at them. All zero at the beginning of a line. */
struct tc_marker {
    size_t column; /* of the line so far, in bytes, as far as it may be one of our beginnings */
    char begun[16];
    bool other;     /* it is none of them */
    bool plain;     /* the terminal takes no sequences: set once, by whoever has it */
    const char *by; /* who says it; NULL: the tool. Set once, as above */
    bool returned; /* the cursor went back to the line's beginning, and nothing was written there */
};

/* `bytes` have been made harmless. Owned, NULL without memory. */
char *tc_mark_lines(struct tc_marker *mark, const char *bytes, size_t length, size_t *ret_length);

#endif
