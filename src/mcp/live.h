/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A tool's output while it runs, for clients that want progress or log messages, if the operator
 * has allowed it. Limited in rate and size; the result has the output whole. */
#ifndef TC_MCP_LIVE_H
#define TC_MCP_LIVE_H

#include "mcp/server.h"

/* Sends the output of a new call from now on, if its client wants it. 0, or negative with *err. */
int tc_mcp_live_begin(struct tc_mcp_call *c, struct toolcage_error **err);
/* When tc_mcp_live_send() must be called, by CLOCK_MONOTONIC in ms; INT64_MAX: not. */
int64_t tc_mcp_live_due(const struct tc_mcp_call *c);
/* Sends the output that has arrived. `last`: no more comes. */
void tc_mcp_live_send(struct tc_mcp_call *c, int64_t now_ms, bool last);
void tc_mcp_live_done(struct tc_mcp_call *c);

#endif
