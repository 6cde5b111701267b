/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of a live session, once its sandbox is complete. It starts the commands that the helper
 * orders, each with its own streams, reaps every process, and reports each command's end. Time is
 * the helper's: PID 1 has no deadline of a command. It allocates nothing.
 *
 * All processes of a session have the same rights, and none can reach PID 1: it cannot be traced,
 * ignores their signals, and its sockets close at each exec. */
#ifndef TC_LIVE_INSIDE_INSIDE_H
#define TC_LIVE_INSIDE_INSIDE_H

#include <stdint.h>
#include <sys/resource.h>

struct tc_live_place {
    int talk;                   /* the session's socket */
    int report;                 /* closed when the helper has ended */
    const struct rlimit *files; /* a command's open files; NULL: as PID 1 */
    /* PID 1's own checks. Returns the microseconds until the next. */
    int64_t (*tick)(void *context);
    void *context;
};

/* Serves until the session ends. Processes may be left. */
void tc_live_serve(const struct tc_live_place *place);

#endif
