/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The published ports of a live session (include/toolcage/session.h). Their addresses and numbers
 * are in memory that the session's egress proxy writes, which is untrusted. */
#ifndef TC_CALL_PORTS_H
#define TC_CALL_PORTS_H

#include "call/call.h"

/* Maps the proxy's report. Does nothing with another file: the session then shows no ports. */
void tc_ports_take(struct toolcage_call *session, int fd);
void tc_ports_done(struct toolcage_call *session);
int tc_ports_json(const struct toolcage_call *session, char **ret, struct toolcage_error **err);

#endif
