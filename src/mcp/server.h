/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One server: what it was given, what it agreed with its client, and the calls that run. */
#ifndef TC_MCP_SERVER_H
#define TC_MCP_SERVER_H

#include <jansson.h>
#include <stdbool.h>

#include "mcp/lines.h"
#include "mcp/mcp.h"

/* Codes of JSON-RPC and of the protocol. */
enum {
    TC_RPC_PARSE = -32700,
    TC_RPC_REQUEST = -32600,
    TC_RPC_METHOD = -32601,
    TC_RPC_PARAMS = -32602,
    TC_RPC_INTERNAL = -32603,
    TC_RPC_VERSION = -32022,
};

/* One request while it is being answered. */
struct tc_request {
    json_t *id;          /* owned */
    const char *version; /* of the protocol that it speaks */
};

struct tc_mcp_call {
    struct tc_request request;
    struct toolcage_call *call;
    bool cancelled; /* nobody waits for the answer */
};

struct tc_mcp {
    const struct tc_mcp_options *options;
    struct toolcage_engine *engine; /* NULL: lost; the next call starts another */
    json_t *tools;                  /* as tools/list shows them */
    const char *version;            /* agreed by initialize; NULL: not yet, or never */
    struct tc_lines in;
    struct tc_outbox out;
    struct tc_mcp_call *calls;
    size_t call_count;
    bool failed; /* out of memory for an answer: a client would wait for ever */
};

/* protocol.c: one line of the client's. */
void tc_mcp_line(struct tc_mcp *server, const char *text, size_t length);
void tc_mcp_too_long(struct tc_mcp *server);
/* Answer a request, and are done with it. They take `result` and `data` (NULL: none, or no memory).
 */
void tc_mcp_answer(struct tc_mcp *server, struct tc_request *request, json_t *result);
void tc_mcp_refuse(struct tc_mcp *server, struct tc_request *request, int code, const char *message,
                   json_t *data);
/* Drops a request that nobody waits for. */
void tc_mcp_drop(struct tc_request *request);

/* calls.c */
void tc_mcp_call(struct tc_mcp *server, struct tc_request *request, const json_t *params);
/* The call with this id; NULL: every one. */
void tc_mcp_cancel(struct tc_mcp *server, const json_t *id);
/* Does what is ready in the index-th call; answered ones leave the list. */
void tc_mcp_dispatch(struct tc_mcp *server, size_t index);
/* The helper has gone: every call that still runs is answered with that. */
void tc_mcp_lost(struct tc_mcp *server);

#endif
