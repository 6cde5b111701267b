/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy's tools for clients, without a word about how messages travel: a transport hands in a
 * message of a session, and gets every answer back by a function of its own. */
#ifndef TC_MCP_SERVER_H
#define TC_MCP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <toolcage/toolcage.h>

#include "mcp/mcp.h"

/* Codes of JSON-RPC and of the protocol. */
enum {
    TC_RPC_PARSE = -32700,
    TC_RPC_REQUEST = -32600,
    TC_RPC_METHOD = -32601,
    TC_RPC_PARAMS = -32602,
    TC_RPC_INTERNAL = -32603,
    TC_RPC_HEADERS = -32020,
    TC_RPC_VERSION = -32022,
};

#define TC_MCP_STATELESS "2026-07-28"
#define TC_MCP_META "io.modelcontextprotocol/"

/* One client, from its first message on: what it agreed on, and where its answers go. */
struct tc_mcp_session {
    struct tc_mcp *server;
    const char *version; /* agreed by initialize; NULL: not yet, or never */
    /* One answer, whole, without an end of line. `asker` is what came with the request, `code` its
     * error's, or 0. False: it cannot be kept, and nobody is to go on. */
    bool (*send)(struct tc_mcp_session *session, void *asker, int code, const char *text,
                 size_t length);
};

/* One request while it is being answered. */
struct tc_mcp_request {
    struct tc_mcp_session *session;
    json_t *id;          /* owned */
    const char *version; /* of the protocol that it speaks */
    void *asker;         /* the transport's; NULL: it does not tell requests apart */
};

struct tc_mcp_call {
    struct tc_mcp_request request;
    struct toolcage_call *call;
    bool cancelled; /* nobody waits for the answer */
};

/* What all sessions share. */
struct tc_mcp {
    const struct tc_mcp_tools *what;
    struct toolcage_engine *engine; /* NULL: lost; the next call starts another */
    json_t *tools;                  /* as tools/list shows them */
    struct tc_mcp_call *calls;
    size_t call_count;
    bool failed; /* out of memory for an answer: a client would wait for ever */
};

/* server.c. 0, or negative as tc_mcp_serve(); closed in both cases. */
int tc_mcp_open(struct tc_mcp *server, const struct tc_mcp_tools *what,
                struct toolcage_error **err);
void tc_mcp_close(struct tc_mcp *server);
/* Nothing more may be said: it lacked memory for something. */
bool tc_mcp_is_broken(const struct tc_mcp *server);

/* protocol.c: one message of the client's. True: it is a request, which is answered now or when its
 * call ends, or no message, which is answered now; false: nothing is said to it. */
bool tc_session_take(struct tc_mcp_session *session, void *asker, const char *text, size_t length);
bool tc_session_take_json(struct tc_mcp_session *session, void *asker, const json_t *message);
/* Refuses what cannot be read, so that its id is unknown. */
void tc_session_refuse(struct tc_mcp_session *session, void *asker, int code, const char *message);
/* Its calls end, and are answered to nobody; from here on it is not used any more. */
void tc_session_leave(struct tc_mcp_session *session);
/* Whoever asked this has gone; with `cancel` the call ends, too. */
void tc_session_forget(struct tc_mcp_session *session, const void *asker, bool cancel);
bool tc_session_is_busy(const struct tc_mcp_session *session);

/* Is this one of the versions that an initialize request agrees on? */
bool tc_mcp_is_agreed(const char *version);
/* Answer a request, and are done with it. They take `result` and `data` (NULL: none, or no memory).
 */
void tc_mcp_answer(struct tc_mcp_request *request, json_t *result);
void tc_mcp_refuse(struct tc_mcp_request *request, int code, const char *message, json_t *data);
/* Drops a request that nobody waits for. */
void tc_mcp_drop(struct tc_mcp_request *request);

/* server.c: the calls */
void tc_mcp_call(struct tc_mcp_request *request, const json_t *params);
/* The session's call with this id; NULL: every one. */
void tc_mcp_cancel(struct tc_mcp_session *session, const json_t *id);
/* Does what is ready in the index-th call; answered ones leave the list. */
void tc_mcp_dispatch(struct tc_mcp *server, size_t index);
/* The helper has gone: every call that still runs is answered with that. */
void tc_mcp_lost(struct tc_mcp *server);

#endif
