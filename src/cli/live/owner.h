/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process that owns a live session: it holds the engine and the session's call, and runs the
 * commands of its clients. The session ends with it. */
#ifndef TC_CLI_LIVE_OWNER_H
#define TC_CLI_LIVE_OWNER_H

#include "cli/call/setup.h"

struct tc_live_owner {
    const char *name;
    const struct tc_verb *verb; /* of the commands, for their reports */
    struct tc_setup *setup;     /* its call is the session, which accepts commands */
    const char *tool;
    int listener;
    bool timed;                     /* `timeout` was set for all commands */
    long long idle_ms, lifetime_ms; /* lifetime_ms 0: the policy's */
};

/* Serves clients until the session has ended. */
void tc_owner_serve(const struct tc_live_owner *owner);

#endif
