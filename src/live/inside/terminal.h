/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The terminal of a command, in the private devpts of the cage: the command cannot reach a terminal
 * of the caller. */
#ifndef TC_LIVE_INSIDE_TERMINAL_H
#define TC_LIVE_INSIDE_TERMINAL_H

#include "live/inside/order.h"

/* Called by the command's process, which leads a session, before its exec: opens a terminal, makes
 * it the controlling one and all three streams, and sends its other end as a report. 0, or -1 with
 * errno. */
int tc_live_terminal_open(int reply, const struct tc_live_extras *extras);

#endif
