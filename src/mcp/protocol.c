/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The Model Context Protocol for a server that offers tools. Two generations are supported. Since
 * 2026-07-28 every request names its version in _meta. Before, one initialize request agreed on the
 * version of the connection. */
#include <string.h>

#include "mcp/log.h"
#include "mcp/resources.h"
#include "mcp/server.h"

#define META TC_MCP_META

/* How long a client may cache what does not change while the server runs, and the list of tools
 * of a policy that is watched. */
enum { FRESH_MS = 300000, WATCHED_MS = 5000 };

/* Newest first: a client with an unknown version is offered the first. */
static const char *const agreed[] = {"2025-11-25", "2025-06-18", "2025-03-26"};

static const char instructions[] =
    "Each tool runs in a cage built for that one call from the operator's policy. What the policy "
    "does not grant is refused; the refusal says what is allowed.";

static bool is_stateless(const struct tc_mcp_request *request)
{
    return request->version == tc_mcp_stateless;
}

json_t *tc_mcp_read(struct tc_mcp *server, const char *text, size_t length, json_error_t *error)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    char *copy = tc_rescue_text(text, length);
    json_t *message = json_loadb(copy ? copy : text, length, flags, error);
    server->replaced = copy;
    free(copy);
    return message;
}

/* ---- methods ---- */

bool tc_mcp_is_agreed(const char *version)
{
    for (size_t i = 0; i < sizeof(agreed) / sizeof(agreed[0]); i++)
        if (strcmp(agreed[i], version) == 0)
            return true;
    return false;
}

static json_t *capabilities(const struct tc_mcp *server)
{
    return server->reload ? json_pack("{s:{s:b}, s:{}}", "tools", "listChanged", true, "logging")
                          : json_pack("{s:{}, s:{}}", "tools", "logging");
}

static void initialize(struct tc_mcp_request *request, const json_t *params)
{
    const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
    if (!wanted) {
        tc_mcp_refuse(request, TC_RPC_PARAMS, "initialize needs a protocolVersion", NULL);
        return;
    }
    struct tc_mcp_session *session = request->session;
    session->elicits =
        session->request && tc_mcp_can_elicit(json_object_get(params, "capabilities"));
    session->version = agreed[0];
    for (size_t i = 0; i < sizeof(agreed) / sizeof(agreed[0]); i++)
        if (strcmp(agreed[i], wanted) == 0)
            session->version = agreed[i];
    tc_session_begin_news(session);
    json_t *can = capabilities(session->server);
    if (can && session->keeps)
        (void)json_object_set_new(can, "resources", json_object());
    tc_mcp_answer(request, json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", session->version,
                                     "capabilities", can, "serverInfo", tc_mcp_server_info(session),
                                     "instructions", instructions));
}

static void discover(struct tc_mcp_request *request, const json_t *params)
{
    (void)params;
    tc_mcp_answer(request,
                  json_pack("{s:[s], s:o, s:s, s:i, s:s}", "supportedVersions", tc_mcp_stateless,
                            "capabilities", capabilities(request->session->server), "instructions",
                            instructions, "ttlMs", FRESH_MS, "cacheScope", "private"));
}

static void ping(struct tc_mcp_request *request, const json_t *params)
{
    (void)params;
    tc_mcp_answer(request, json_object());
}

static void list_tools(struct tc_mcp_request *request, const json_t *params)
{
    if (json_object_get(params, "cursor")) {
        tc_mcp_refuse(request, TC_RPC_PARAMS, "unknown cursor: the list is one page", NULL);
        return;
    }
    tc_mcp_refresh(request->session->server, false);
    json_t *result = json_pack("{s:O}", "tools", request->session->server->tools);
    if (result && is_stateless(request)) {
        bool watched = request->session->server->reload;
        (void)json_object_set_new(result, "ttlMs", json_integer(watched ? WATCHED_MS : FRESH_MS));
        (void)json_object_set_new(result, "cacheScope", json_string("private"));
    }
    tc_mcp_answer(request, result);
}

enum era { BEFORE = 1, STATELESS = 2 };

static const struct {
    const char *name;
    void (*run)(struct tc_mcp_request *request, const json_t *params);
    int eras;
} methods[] = {
    {"initialize", initialize, BEFORE},
    {"ping", ping, BEFORE},
    {"logging/setLevel", tc_mcp_log_set_level, BEFORE},
    {"resources/list", tc_mcp_resources_list, BEFORE},
    {"resources/templates/list", tc_mcp_resources_templates, BEFORE},
    {"resources/read", tc_mcp_resources_read, BEFORE},
    {"server/discover", discover, STATELESS},
    {"subscriptions/listen", tc_mcp_listen, STATELESS},
    {"tools/list", list_tools, BEFORE | STATELESS},
    {"tools/call", tc_mcp_call, BEFORE | STATELESS},
};

static void run_method(struct tc_mcp_request *request, const char *method, const json_t *params)
{
    int era = is_stateless(request) ? STATELESS : BEFORE;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(methods[i].name, method) == 0 && (methods[i].eras & era)) {
            methods[i].run(request, params);
            return;
        }
    tc_mcp_refuse(request, TC_RPC_METHOD, "this server has no such method", NULL);
}

/* ---- requests ---- */

/* The protocol version of a request; NULL if it was refused. */
static const char *version_of(struct tc_mcp_request *request, const char *method,
                              const json_t *params)
{
    const json_t *meta = json_object_get(params, "_meta");
    const char *said = json_string_value(json_object_get(meta, META "protocolVersion"));
    if (said && strcmp(said, tc_mcp_stateless) != 0) {
        tc_mcp_refuse(request, TC_RPC_VERSION, "this version is not supported",
                      json_pack("{s:[s], s:s}", "supported", tc_mcp_stateless, "requested", said));
        return NULL;
    }
    if (said && json_is_object(json_object_get(meta, META "clientCapabilities")))
        return tc_mcp_stateless;
    if (said) {
        tc_mcp_refuse(request, TC_RPC_PARAMS, "_meta needs " META "clientCapabilities, an object",
                      NULL);
        return NULL;
    }
    if (request->session->version)
        return request->session->version;
    if (strcmp(method, "initialize") == 0 || strcmp(method, "ping") == 0)
        return agreed[0];
    tc_mcp_refuse(
        request, TC_RPC_PARAMS,
        "name the version: in _meta as " META "protocolVersion, or by an initialize request", NULL);
    return NULL;
}

static bool in_flight(const struct tc_mcp_session *session, const json_t *id)
{
    const struct tc_mcp *server = session->server;
    for (size_t i = 0; i < server->call_count; i++)
        if (server->calls[i].request.session == session &&
            json_equal(server->calls[i].request.id, id))
            return true;
    return tc_session_listens(session, id);
}

static void take_request(struct tc_mcp_session *session, void *asker, json_t *id,
                         const char *method, const json_t *params)
{
    struct tc_mcp_request request = {.session = session,
                                     .asker = asker,
                                     .id = json_incref(id),
                                     .replaced = session->server->replaced};
    if (in_flight(session, id)) {
        tc_mcp_refuse(&request, TC_RPC_REQUEST, "a call with this id still runs", NULL);
        return;
    }
    if (params && !json_is_object(params)) {
        tc_mcp_refuse(&request, TC_RPC_PARAMS, "params must be an object", NULL);
        return;
    }
    request.version = version_of(&request, method, params);
    if (request.version)
        run_method(&request, method, params);
}

static void take_notification(struct tc_mcp_session *session, const char *method,
                              const json_t *params)
{
    const json_t *id = json_object_get(params, "requestId");
    if (id && strcmp(method, "notifications/cancelled") == 0) {
        tc_mcp_cancel(session, id);
        tc_session_unlisten(session, id);
    }
}

static bool take_message(struct tc_mcp_session *session, void *asker, const json_t *message)
{
    json_t *id = json_object_get(message, "id");
    const json_t *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    const char *rpc = json_string_value(json_object_get(message, "jsonrpc"));
    bool answer = json_object_get(message, "result") || json_object_get(message, "error");
    if (!rpc || strcmp(rpc, "2.0") != 0 || (!method && !answer) ||
        (id && !json_is_string(id) && !json_is_integer(id))) {
        tc_session_refuse(session, asker, TC_RPC_REQUEST,
                          "not a JSON-RPC 2.0 message: it needs jsonrpc, a method, and as id a "
                          "string or an integer");
        return true;
    }
    if (method && id)
        take_request(session, asker, id, method, params);
    else if (method)
        take_notification(session, method, params);
    else if (id)
        tc_mcp_answered(session, id, json_object_get(message, "result"));
    return method && id;
}

bool tc_session_take_json(struct tc_mcp_session *session, void *asker, const json_t *message)
{
    if (!json_is_array(message))
        return take_message(session, asker, message);
    tc_session_refuse(session, asker, TC_RPC_REQUEST, "send one message per line, not an array");
    return true;
}

bool tc_session_take(struct tc_mcp_session *session, void *asker, const char *text, size_t length)
{
    json_error_t error;
    size_t blank = 0;
    while (blank < length && strchr(" \t\r", text[blank]))
        blank++;
    if (blank == length)
        return false;
    json_t *message = tc_mcp_read(session->server, text, length, &error);
    if (!message) {
        struct tc_rescue rescue = {0};
        tc_rescue_add(&rescue, text, length);
        tc_session_refuse_unread(session, asker, &rescue, error.text);
        return true;
    }
    bool answered = tc_session_take_json(session, asker, message);
    json_decref(message);
    return answered;
}
