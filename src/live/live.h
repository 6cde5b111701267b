/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Live sessions, in the helper. A session is a call whose cage runs no tool: its PID 1 waits for
 * commands (live/inside). A command is a call, too: its cage is that session's, so it has only
 * streams and a socket to PID 1. Both are supervised like every other call, with deadlines, output
 * limits and a result each. All functions run on the event loop. */
#ifndef TC_LIVE_LIVE_H
#define TC_LIVE_LIVE_H

#include "plan/backend.h"

/* The executor of a plan that is a live session, or a command in one; NULL: it is neither. */
const struct tc_executor *tc_live_executor(const struct tc_plan *plan);

#endif
