/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the published ports of a live session. */
#ifndef TC_CLI_LIVE_PORTS_H
#define TC_CLI_LIVE_PORTS_H

#include "cli/show/failure.h"

/* A message for each port of the session, with its address. */
void tc_ports_tell(const struct toolcage_call *session);
/* Prints them as a table, from toolcage_session_ports_json(). Returns the exit code. */
int tc_ports_print(const char *name, const char *json);

#endif
