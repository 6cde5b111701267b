/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One HTTP request: its headers are checked before its body is read, its message is passed to the
 * server, and its connection is suspended until the response exists. */
#include <stdlib.h>
#include <string.h>

#include "mcp/http/web.h"

/* ---- responses ---- */

static char *write_error(int code, const char *text)
{
    json_t *error = json_pack("{s:s, s:n, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", "error", "code",
                              code, "message", text);
    char *made = error ? json_dumps(error, JSON_COMPACT) : NULL;
    json_decref(error);
    return made;
}

static const char plain_type[] = "application/json";

/* Takes ownership of `text`; NULL: no body. */
static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, const char *type,
                             char *text, const char *header, const char *value)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        text ? strlen(text) : 0, text, text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    bool good =
        (!text || MHD_add_response_header(response, "Content-Type", type ? type : plain_type)) &&
        (!header || MHD_add_response_header(response, header, value)) &&
        MHD_add_response_header(response, "Cache-Control", "no-store") &&
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = good ? MHD_queue_response(connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

static char *write_problem(unsigned status, const char *text)
{
    json_t *problem = json_pack("{s:i, s:s}", "status", (int)status, "detail", text);
    char *made = problem ? json_dumps(problem, JSON_COMPACT) : NULL;
    json_decref(problem);
    return made;
}

static enum MHD_Result refuse_early(struct MHD_Connection *connection,
                                    struct tc_mcp_http_wire *wire, const char *url,
                                    const struct tc_refusal *refusal)
{
    bool api = wire->web->api && tc_api_has(url);
    char *text = api ? write_problem(refusal->status, refusal->text)
                     : write_error(TC_RPC_REQUEST, refusal->text);
    wire->deadline_ms = tc_mcp_now_ms() + TC_WEB_HEAD_MS;
    return text ? queue(connection, refusal->status, api ? "application/problem+json" : NULL, text,
                        refusal->header, refusal->value)
                : MHD_NO;
}

/* Takes ownership of `text` (NULL: no body). */
static void set_answer(struct tc_exchange *exchange, int status, char *text)
{
    exchange->status = status;
    exchange->answer = text;
    exchange->answer_length = text ? strlen(text) : 0;
    exchange->web->held += exchange->answer_length;
    tc_exchange_wake(exchange);
}

void tc_exchange_refuse(struct tc_exchange *exchange, int status, int code, const char *text)
{
    char *error = write_error(code, text);
    if (exchange->streaming) {
        if (error)
            (void)tc_stream_put(exchange, "message", error);
        free(error);
        exchange->ended = true;
        tc_exchange_wake(exchange);
        return;
    }
    set_answer(exchange, status, error);
}

void tc_exchange_accept(struct tc_exchange *exchange)
{
    set_answer(exchange, MHD_HTTP_ACCEPTED, NULL);
}

/* For stateless requests the HTTP status reflects the error code. In the older versions a status
 * would describe the session. */
static int status_of(const struct tc_exchange *exchange, int code)
{
    if (!exchange->stateless || code == 0 || code == TC_RPC_INTERNAL)
        return MHD_HTTP_OK;
    return code == TC_RPC_METHOD ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST;
}

bool tc_exchange_send(struct tc_mcp_session *session, void *asker, int code, const char *text,
                      size_t length)
{
    struct tc_client *client = (struct tc_client *)session;
    struct tc_exchange *exchange = client->old ? client->stream : asker;
    (void)length;
    if (!exchange || exchange->gone)
        return true;
    if (exchange->streaming) {
        exchange->ended = !client->old;
        return tc_stream_put(exchange, "message", text);
    }
    char *copy = strdup(text);
    if (!copy)
        return false;
    set_answer(exchange, status_of(exchange, code), copy);
    return true;
}

enum tc_mcp_told tc_exchange_notify(struct tc_mcp_session *session, void *asker, const char *text,
                                    size_t length)
{
    struct tc_client *client = (struct tc_client *)session;
    struct tc_exchange *exchange = client->old || !asker ? client->stream : asker;
    (void)length;
    if (!exchange || exchange->gone || exchange->ended || exchange->status ||
        !(exchange->streaming || exchange->takes_stream) ||
        tc_outbox_pending(&exchange->unread) > TC_MCP_UNREAD_MAX ||
        exchange->web->held > TC_WEB_HELD_MAX / 4)
        return TC_MCP_UNREAD;
    exchange->streaming = true;
    return tc_stream_put(exchange, "message", text) ? TC_MCP_TOLD : TC_MCP_LOST;
}

void tc_exchange_end(struct tc_mcp_session *session, void *asker)
{
    struct tc_client *client = (struct tc_client *)session;
    struct tc_exchange *exchange = client->old ? NULL : asker;
    if (!exchange || exchange->gone || exchange->status || exchange->ended)
        return;
    if (!exchange->streaming && !exchange->takes_stream) {
        tc_exchange_accept(exchange);
        return;
    }
    exchange->streaming = exchange->ended = true;
    tc_exchange_wake(exchange);
}

/* Queues the response if it exists, else suspends the connection. */
static enum MHD_Result respond(struct tc_exchange *exchange)
{
    if (exchange->gone)
        return MHD_NO;
    if (exchange->streaming || exchange->result)
        return tc_stream_begin(exchange);
    if (!exchange->status) {
        tc_exchange_suspend(exchange);
        return MHD_YES;
    }
    char *text = exchange->answer;
    exchange->answer = NULL;
    exchange->wire->deadline_ms = tc_mcp_now_ms() + 2 * TC_WEB_READ_MS;
    return queue(exchange->connection, (unsigned)exchange->status, exchange->type, text,
                 exchange->new_session ? "Mcp-Session-Id"
                 : exchange->allow     ? "Allow"
                                       : NULL,
                 exchange->new_session ? exchange->new_session : exchange->allow);
}

/* ---- the API ---- */

static void send_event(void *asker, const char *event, const char *text)
{
    struct tc_exchange *exchange = asker;
    exchange->streaming = true;
    if (!tc_stream_put(exchange, event, text))
        exchange->web->server.failed = true;
}

static void answer_api(void *asker, unsigned status, const char *type, char *text)
{
    struct tc_exchange *exchange = asker;
    exchange->type = type;
    if (text && exchange->streaming) {
        send_event(exchange, "error", text);
        exchange->ended = true;
        tc_exchange_wake(exchange);
        free(text);
    } else if (text)
        set_answer(exchange, (int)status, text);
    else
        exchange->web->server.failed = true;
}

static void set_allow(void *asker, const char *methods)
{
    struct tc_exchange *exchange = asker;
    exchange->allow = methods;
}

static void send_result(void *asker, struct tc_api_result *result, bool streams)
{
    struct tc_exchange *exchange = asker;
    exchange->result = tc_api_result_ref(result);
    exchange->result_at = streams ? 0 : result->begin;
    exchange->streaming = streams;
    exchange->ended = true;
    exchange->status = MHD_HTTP_OK;
    exchange->wire->deadline_ms = tc_mcp_now_ms() + TC_WEB_READ_MS;
    tc_exchange_wake(exchange);
}

static bool is_full(const void *asker)
{
    const struct tc_exchange *exchange = asker;
    return tc_outbox_pending(&exchange->unread) > TC_WEB_UNREAD_MAX ||
           exchange->web->held > TC_WEB_HELD_MAX / 2;
}

static const char *find_argument(const void *asker, const char *name)
{
    const struct tc_exchange *exchange = asker;
    return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

const struct tc_api_wire tc_exchange_wire = {answer_api,  set_allow, send_event,
                                             send_result, is_full,   find_argument};

static void take_api(struct tc_exchange *exchange)
{
    struct tc_heads heads;
    tc_heads_read(exchange->connection, &heads);
    tc_api_take(exchange->web->api, exchange,
                &(struct tc_api_request){.method = exchange->method,
                                         .path = exchange->path,
                                         .body = exchange->body,
                                         .length = exchange->length,
                                         .key = heads.key,
                                         .json = tc_heads_say_json(&heads),
                                         .streams = heads.has_accept && heads.accepts_stream &&
                                                    !heads.accepts_json,
                                         .runs = exchange->runs,
                                         .operates = exchange->operates,
                                         .crowded = exchange->web->held > TC_WEB_HELD_MAX});
}

/* ---- the message ---- */

static void end_session(struct tc_exchange *exchange)
{
    struct tc_heads heads;
    tc_heads_read(exchange->connection, &heads);
    struct tc_client *client = tc_client_find(exchange->web, heads.session, false);
    if (!client) {
        tc_exchange_refuse(exchange, MHD_HTTP_NOT_FOUND, TC_RPC_REQUEST,
                           "there is no such session");
        return;
    }
    tc_client_free(client);
    set_answer(exchange, MHD_HTTP_NO_CONTENT, NULL);
}

/* The SSE transport: all responses to this client go through this stream. */
static void open_stream(struct tc_exchange *exchange)
{
    char place[sizeof("/messages?session_id=") + 64] = "/messages?session_id=";
    struct tc_client *client = tc_client_new(exchange->web, false);
    if (!client) {
        tc_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TC_RPC_INTERNAL,
                           "too many sessions: end one");
        return;
    }
    client->old = true;
    client->stream = exchange;
    exchange->client = client;
    exchange->streaming = true;
    memcpy(place + strlen(place), client->id, sizeof(client->id));
    if (!tc_stream_put(exchange, "endpoint", place))
        exchange->web->server.failed = true;
}

/* The stream of a session, for messages that belong to no request. */
static void open_session_stream(struct tc_exchange *exchange)
{
    struct tc_heads heads;
    tc_heads_read(exchange->connection, &heads);
    struct tc_client *client = tc_client_find(exchange->web, heads.session, false);
    if (!heads.session) {
        tc_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, TC_RPC_REQUEST,
                           "send the header Mcp-Session-Id; initialize starts a session");
        return;
    }
    if (!client || client->stream) {
        tc_exchange_refuse(
            exchange, client ? MHD_HTTP_CONFLICT : MHD_HTTP_NOT_FOUND, TC_RPC_REQUEST,
            client ? "the session has an open stream already" : "there is no such session");
        return;
    }
    client->stream = exchange;
    exchange->client = client;
    exchange->streaming = true;
    if (!tc_stream_put(exchange, NULL, "open"))
        exchange->web->server.failed = true;
}

static void drop_body(struct tc_exchange *exchange)
{
    exchange->web->held -= exchange->length;
    free(exchange->body);
    exchange->body = NULL;
    exchange->length = exchange->size = 0;
}

static enum MHD_Result take_whole(struct tc_exchange *exchange)
{
    exchange->taken = true;
    exchange->wire->admitted = true;
    exchange->wire->deadline_ms = 0;
    exchange->since_ms = tc_mcp_now_ms();
    if (exchange->route == TC_ROUTE_API)
        take_api(exchange);
    else if (exchange->route == TC_ROUTE_SSE)
        open_stream(exchange);
    else if (strcmp(exchange->method, "DELETE") == 0)
        end_session(exchange);
    else if (strcmp(exchange->method, "GET") == 0)
        open_session_stream(exchange);
    else
        tc_post_take(exchange);
    drop_body(exchange);
    return respond(exchange);
}

/* False: too much data, or out of memory. */
static bool add_bytes(struct tc_exchange *exchange, const char *bytes, size_t length)
{
    size_t want = exchange->size ? exchange->size : 4096;
    if (length > TC_WEB_BODY_MAX - exchange->length ||
        (exchange->web->held + length > TC_WEB_HELD_MAX && !exchange->operates))
        return false;
    while (want < exchange->length + length)
        want *= 2;
    char *grown = want == exchange->size ? exchange->body : realloc(exchange->body, want);
    if (!grown)
        return false;
    exchange->body = grown;
    exchange->size = want;
    memcpy(grown + exchange->length, bytes, length);
    exchange->length += length;
    exchange->web->held += length;
    return true;
}

static const struct tc_refusal crowded = {503, "too many connections are open: close some",
                                          "Connection", "close"};

static enum MHD_Result begin_exchange(struct tc_web *web, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      void **context)
{
    struct tc_heads heads;
    struct tc_refusal refusal;
    struct tc_admitted admitted;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct tc_mcp_http_wire *wire = info ? info->socket_context : NULL;
    if (!wire)
        return MHD_NO;
    tc_heads_read(connection, &heads);
    heads.loose = !tc_heads_are_plain(connection, method, version);
    if (!tc_admit(web, &heads, url, method, &admitted, &refusal))
        return refuse_early(connection, wire, url, &refusal);
    if (!admitted.operates && web->wire_count > TC_WEB_CLIENT_WIRES_MAX)
        return refuse_early(connection, wire, url, &crowded);
    if (admitted.route == TC_ROUTE_PAGE) {
        wire->deadline_ms = tc_mcp_now_ms() + TC_WEB_HEAD_MS;
        return tc_page_send(connection, url);
    }
    struct tc_exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return MHD_NO;
    *exchange = (struct tc_exchange){.web = web,
                                     .connection = connection,
                                     .wire = wire,
                                     .route = admitted.route,
                                     .runs = admitted.runs,
                                     .operates = admitted.operates,
                                     .method = method,
                                     .path = url,
                                     .takes_json = heads.accepts_json,
                                     .takes_stream = heads.accepts_stream,
                                     .next = web->exchanges,
                                     .at = &web->exchanges};
    if (exchange->next)
        exchange->next->at = &exchange->next;
    web->exchanges = exchange;
    wire->deadline_ms = tc_mcp_now_ms() + TC_WEB_BODY_MS;
    *context = exchange;
    return MHD_YES;
}

enum MHD_Result tc_exchange_take(void *web, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *length, void **context)
{
    struct tc_exchange *exchange = *context;
    if (!exchange)
        return begin_exchange(web, connection, url, method, version, context);
    if (*length) {
        bool good = add_bytes(exchange, bytes, *length);
        *length = 0;
        return good ? MHD_YES : MHD_NO;
    }
    return exchange->taken ? respond(exchange) : take_whole(exchange);
}

/* ---- end of a request ---- */

void tc_exchange_lose(struct tc_exchange *exchange)
{
    exchange->gone = true;
    if (exchange->route == TC_ROUTE_API)
        tc_api_forget(exchange->web->api, exchange);
    if (exchange->once)
        tc_session_forget(&exchange->once->core, exchange, true);
    tc_exchange_wake(exchange);
}

void tc_exchange_completed(void *web, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode why)
{
    struct tc_exchange *exchange = *context;
    (void)web;
    (void)connection;
    (void)why;
    if (!exchange)
        return;
    *context = NULL;
    exchange->gone = true;
    *exchange->at = exchange->next;
    if (exchange->next)
        exchange->next->at = exchange->at;
    drop_body(exchange);
    exchange->web->held -= exchange->answer_length + tc_outbox_pending(&exchange->unread);
    struct tc_client *client = exchange->client;
    if (exchange->route == TC_ROUTE_API)
        tc_api_forget(exchange->web->api, exchange);
    if (client)
        tc_session_forget(&client->core, exchange, false);
    if (client && client->stream == exchange) {
        client->stream = NULL;
        if (client->old)
            tc_client_free(client);
    }
    tc_client_free(exchange->once);
    exchange->wire->admitted = false;
    exchange->wire->since_ms = tc_mcp_now_ms();
    exchange->wire->deadline_ms = tc_mcp_now_ms() + TC_WEB_HEAD_MS;
    free(exchange->answer);
    (void)tc_api_result_unref(exchange->result);
    tc_outbox_done(&exchange->unread);
    free(exchange);
}

void tc_exchanges_tick(struct tc_web *web, int64_t now_ms)
{
    for (struct tc_exchange *e = web->exchanges; e; e = e->next) {
        if (!e->suspended)
            continue;
        if (!e->streaming && e->takes_stream && e->route != TC_ROUTE_API &&
            now_ms - e->since_ms >= TC_WEB_PATIENCE_MS) {
            e->streaming = true;
            tc_exchange_wake(e);
        } else if (e->streaming && now_ms - e->breath_ms >= TC_WEB_BREATH_MS &&
                   !tc_stream_put(e, NULL, "waiting")) {
            web->server.failed = true;
        }
    }
}
