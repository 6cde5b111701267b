/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Notifications to clients. The transport drops them for a client that does not read. */
#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"

bool tc_mcp_notify(struct tc_mcp_session *session, void *asker, const char *method, json_t *params)
{
    json_t *message =
        json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    enum tc_mcp_told told =
        text ? session->notify(session, asker, text, strlen(text)) : TC_MCP_LOST;
    session->server->failed |= told == TC_MCP_LOST;
    free(text);
    json_decref(message);
    return told == TC_MCP_TOLD;
}
