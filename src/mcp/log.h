/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Log messages for clients that have set a level: for a session with logging/setLevel, and since
 * 2026-07-28 for one request in its _meta. */
#ifndef TC_MCP_LOG_H
#define TC_MCP_LOG_H

#include "mcp/server.h"

/* logging/setLevel */
void tc_mcp_log_set_level(struct tc_mcp_request *request, const json_t *params);
/* The level of one call, from its params. */
enum tc_mcp_level tc_mcp_log_level(const struct tc_mcp_request *request, const json_t *params);
/* Does the call's client want messages of this level? */
bool tc_mcp_log_wants(const struct tc_mcp_call *c, enum tc_mcp_level level);
/* Sends a message, if the client wants it; takes ownership of `data`. False: it was dropped. */
bool tc_mcp_log(const struct tc_mcp_call *c, enum tc_mcp_level level, json_t *data);
/* The same to a session, for no call. False: it should be tried again. */
bool tc_mcp_log_session(struct tc_mcp_session *session, enum tc_mcp_level level, json_t *data);
/* Reports denials, held changes and a refusal of a call that has ended. */
void tc_mcp_log_result(const struct tc_mcp_call *c, const struct toolcage_result *result);
/* Reports a call of a tool that is not in the list. */
void tc_mcp_log_unknown(const struct tc_mcp_request *request, const json_t *params);

#endif
