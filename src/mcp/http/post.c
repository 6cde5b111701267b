/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A posted message. Since 2026-07-28 each message is independent, and its HTTP headers repeat parts
 * of it for proxies; both must agree. Before, initialize creates a session, and all later messages
 * name it. */
#include <string.h>

#include "mcp/http/web.h"
#include "text/base64.h"

#define AGAIN "; read the responses, then repeat"

/* ---- since 2026-07-28 ---- */

/* Does `text` decode to `want`? Its length must be a multiple of four, with "=" only at the end. */
static bool is_base64_of(const char *text, size_t length, const char *want)
{
    size_t n = 0, wanted = strlen(want);
    if (length % 4)
        return false;
    for (size_t i = 0; i < length; i += 4) {
        unsigned long bits = 0;
        int bytes = 3;
        for (size_t k = 0; k < 4; k++) {
            bool pad = text[i + k] == '=' && i + 4 == length && k >= 2;
            int value = pad ? 0 : tc_base64_value(text[i + k]);
            if (value < 0 || (bytes < 3 && !pad))
                return false;
            bytes -= pad;
            bits = bits << 6 | (unsigned long)value;
        }
        for (int k = 0; k < bytes; k++, n++)
            if (n >= wanted || (unsigned char)want[n] != (bits >> (16 - 8 * k) & 0xff))
                return false;
        if (bits & ((1UL << (8 * (3 - bytes))) - 1))
            return false; /* non-canonical encoding */
    }
    return n == wanted;
}

/* The length without trailing blanks. */
static size_t length_of(const char *line)
{
    size_t length = strlen(line);
    while (length && strchr(" \t", line[length - 1]))
        length--;
    return length;
}

static bool is_text(const char *line, const char *want)
{
    size_t length = line ? length_of(line) : 0;
    return line && length == strlen(want) && memcmp(line, want, length) == 0;
}

/* Does the header field contain this text, plain or as "=?base64?...?="? */
static bool says(const char *line, const char *want)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    size_t length = line ? length_of(line) : 0, frame = sizeof(begin) - 1 + sizeof(end) - 1;
    if (length < frame || strncmp(line, begin, sizeof(begin) - 1) != 0 ||
        strncmp(line + length - 2, end, 2) != 0)
        return is_text(line, want);
    return is_base64_of(line + sizeof(begin) - 1, length - frame, want);
}

/* NULL, or an error for a header field that differs from the message. */
static const char *find_mismatch(const struct tc_heads *heads, const json_t *message,
                                 const char *version)
{
    const json_t *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    const char *name = json_string_value(json_object_get(params, "name"));
    if (!is_text(heads->version, version))
        return "the header MCP-Protocol-Version differs from the message";
    if (!method || !is_text(heads->method, method))
        return "the header Mcp-Method differs from the message";
    if (strcmp(method, "tools/call") == 0 && name && !says(heads->name, name))
        return "the header Mcp-Name differs from the message";
    return NULL;
}

static const json_t *meta_of(const json_t *message)
{
    return json_object_get(json_object_get(message, "params"), "_meta");
}

static const char *version_of(const json_t *message)
{
    return json_string_value(json_object_get(meta_of(message), TC_MCP_META "protocolVersion"));
}

/* Refuses the request with its own id. */
static void refuse_head(struct tc_exchange *exchange, const json_t *message, const char *fault)
{
    struct tc_mcp_request request = {.session = &exchange->once->core,
                                     .asker = exchange,
                                     .id = json_incref(json_object_get(message, "id"))};
    tc_mcp_refuse(&request, TC_RPC_HEADERS, fault, NULL);
}

static void take_alone(struct tc_exchange *exchange, const struct tc_heads *heads,
                       const json_t *message)
{
    const char *version = version_of(message), *fault = NULL;
    const json_t *id = json_object_get(message, "id");
    exchange->stateless = true;
    exchange->once = tc_client_new(exchange->web, true);
    if (!exchange->once) {
        exchange->web->server.failed = true;
        return;
    }
    if (!id && json_object_get(message, "method")) {
        tc_exchange_accept(exchange); /* notifications are ignored: a stateless client cancels by
                                         closing the connection */
        return;
    }
    if (version &&
        json_is_object(json_object_get(meta_of(message), TC_MCP_META "clientCapabilities")))
        fault = find_mismatch(heads, message, version);
    if (fault && (json_is_string(id) || json_is_integer(id)))
        refuse_head(exchange, message, fault);
    else if (!tc_session_take_json(&exchange->once->core, exchange, message))
        tc_exchange_accept(exchange);
}

/* ---- sessions ---- */

static void begin_session(struct tc_exchange *exchange, const json_t *message)
{
    struct tc_client *client = tc_client_new(exchange->web, false);
    if (!client) {
        tc_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TC_RPC_INTERNAL,
                           "too many sessions: end one");
        return;
    }
    if (!tc_session_take_json(&client->core, exchange, message))
        tc_exchange_accept(exchange);
    if (client->core.version)
        exchange->new_session = client->id;
    else
        tc_client_free(client);
}

static void take_in_session(struct tc_exchange *exchange, const char *id, const json_t *message)
{
    bool old = exchange->route == TC_ROUTE_MESSAGES;
    struct tc_client *client = tc_client_find(exchange->web, id, old);
    if (!client) {
        tc_exchange_refuse(exchange, MHD_HTTP_NOT_FOUND, TC_RPC_REQUEST,
                           "there is no such session: start a new one with initialize");
        return;
    }
    if (old && client->stream && tc_outbox_pending(&client->stream->unread) > TC_WEB_UNREAD_MAX) {
        tc_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TC_RPC_INTERNAL,
                           "too much unread data in this session's stream" AGAIN);
        return;
    }
    if (old)
        tc_exchange_accept(exchange);
    else
        exchange->client = client;
    if (!tc_session_take_json(&client->core, old ? NULL : exchange, message) && !old)
        tc_exchange_accept(exchange);
}

static void take_before(struct tc_exchange *exchange, const struct tc_heads *heads,
                        const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    if (exchange->route == TC_ROUTE_MESSAGES)
        take_in_session(
            exchange,
            MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, "session_id"),
            message);
    else if (heads->version && !tc_mcp_is_agreed(heads->version))
        tc_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, TC_RPC_VERSION,
                           "this protocol version is not supported");
    else if (heads->session)
        take_in_session(exchange, heads->session, message);
    else if (method && strcmp(method, "initialize") == 0 && json_object_get(message, "id"))
        begin_session(exchange, message);
    else
        tc_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, TC_RPC_REQUEST,
                           "send the header Mcp-Session-Id; initialize starts a session");
}

/* ---- both ---- */

static bool stands_alone(const struct tc_heads *heads, const json_t *message)
{
    return version_of(message) || is_text(heads->version, TC_MCP_STATELESS);
}

void tc_post_take(struct tc_exchange *exchange)
{
    struct tc_heads heads;
    json_error_t error;
    if (exchange->web->held > TC_WEB_HELD_MAX / 2) {
        tc_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TC_RPC_INTERNAL,
                           "too much unread data for all clients" AGAIN);
        return;
    }
    json_t *message = tc_mcp_read(&exchange->web->server, exchange->body ? exchange->body : "",
                                  exchange->length, &error);
    tc_heads_read(exchange->connection, &heads);
    if (!message)
        tc_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, TC_RPC_PARSE, error.text);
    else if (!json_is_object(message))
        tc_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, TC_RPC_REQUEST,
                           "post one message, an object");
    else if (exchange->route == TC_ROUTE_MCP && stands_alone(&heads, message))
        take_alone(exchange, &heads, message);
    else
        take_before(exchange, &heads, message);
    json_decref(message);
    if (!exchange->status && !exchange->takes_json)
        exchange->streaming = true;
}
