/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of a live session, which its cage and the cages of its commands share. */
#ifndef TC_LIVE_SESSION_H
#define TC_LIVE_SESSION_H

#include "base/clock.h"
#include "cage/cage.h"

struct tc_live {
    struct tc_live *next;
    struct tc_cage *cage; /* NULL: the session has ended */
    unsigned users;       /* its cage and the cages of its commands */
    unsigned running;     /* commands */
    int64_t quiet_since;  /* when the last command ended */
    int64_t until;        /* the end of its lifetime; 0: it has not started */
    bool ending;          /* PID 1 received the order to terminate all processes */
    bool ended;           /* ... and to end */
};

/* The session with this call's id that can run commands, or NULL. */
struct tc_live *tc_live_find(const char *call);
/* A cage uses the record, or no longer uses it. */
struct tc_live *tc_live_use(struct tc_live *live);
void tc_live_leave(struct tc_live *live);
/* A command has started or ended: the session's idle time is counted while none runs. */
void tc_live_count(struct tc_live *live, int started);
/* Kills PID 1, and with it every process of the session. */
void tc_live_kill(struct tc_live *live, const char *why);

extern const struct tc_executor tc_live_session_executor, tc_live_command_executor;

#endif
