/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Takes a changed policy while the server runs, if the user has trusted it. Otherwise the policy in
 * use stays, and the operator and the clients hear why, once for each change. */
#ifndef TC_MCP_RELOAD_H
#define TC_MCP_RELOAD_H

#include "mcp/server.h"

/* Begins to watch the files of the policy in use. 0, or negative with *err. */
int tc_mcp_reload_begin(struct tc_mcp *server, struct toolcage_error **err);
void tc_mcp_reload_done(struct tc_mcp *server);
/* Looks for a change; `due`: only if it is time to. True: another policy is in use. */
bool tc_mcp_reload_look(struct tc_mcp *server, bool due);

#endif
