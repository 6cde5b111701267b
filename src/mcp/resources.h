/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Collected files that a result only links: long texts, and bytes that no model reads. The session
 * of the call can read them (resources/read) until it ends, or until newer files need the room. */
#ifndef TC_MCP_RESOURCES_H
#define TC_MCP_RESOURCES_H

#include "mcp/server.h"

/* Stores the file's content (`value`: a text, or base64 in the member "blob") for the request's
 * session, and appends the link to `content`. 1: linked; 0: it stays in the result itself;
 * negative: out of memory. `linked` counts the links of this result. */
int tc_mcp_resources_add(const struct tc_mcp_request *request, json_t *content, const json_t *file,
                         const char *member, json_t *value, size_t *linked);
/* Forgets the session's files. */
void tc_mcp_resources_done(struct tc_mcp_session *session);

/* ---- methods of sessions ---- */

void tc_mcp_resources_list(struct tc_mcp_request *request, const json_t *params);
void tc_mcp_resources_templates(struct tc_mcp_request *request, const json_t *params);
void tc_mcp_resources_read(struct tc_mcp_request *request, const json_t *params);

#endif
