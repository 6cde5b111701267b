/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call's terminal, seen from the helper: what the host's pipe brings is typed there, as much as
 * it takes, and no more is read before that. What it shows is an output stream like any other. */
#ifndef TC_HELPER_TERMINAL_H
#define TC_HELPER_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_running;
struct tc_source;

struct tc_terminal {
    bool attached;
    uint16_t rows, columns; /* the size said last; 0: none since the start */
    char typed[4096];       /* not taken yet: from `from` to `to` */
    size_t from, to;
};

/* After an event of the cage: its terminal may be there now. False when it cannot be watched. */
bool tc_terminal_attach(struct tc_running *job);
/* The host's pipe has something. */
void tc_terminal_typed(struct tc_source *source, uint32_t events);
/* The terminal takes more. */
void tc_terminal_feed(struct tc_running *job);
void tc_terminal_resize(struct tc_running *job, uint16_t rows, uint16_t columns);

#endif
