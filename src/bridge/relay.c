/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages: each line of the client becomes a request, and each message of the server becomes
 * exactly one line. A response counts only on the stream of its own request. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "mcp/memory.h"
#include "mcp/wrap.h"

enum { REFUSED = -32000, LINGER_MS = 1000 };

/* ---- to the client ---- */

static void write_all(struct tc_bridge *bridge, const char *text, size_t length)
{
    while (length && !bridge->failed) {
        ssize_t n = write(STDOUT_FILENO, text, length);
        if (n < 0 && errno != EINTR)
            bridge->failed = true;
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
}

/* Line ends inside a JSON value are blanks between its parts, so they become spaces. */
static void write_line(struct tc_bridge *bridge, const char *text, size_t length)
{
    char *line = malloc(length + 1);
    if (!line) {
        bridge->failed = true;
        return;
    }
    for (size_t i = 0; i < length; i++)
        line[i] = (char)(text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    line[length] = '\n';
    write_all(bridge, line, length + 1);
    free(line);
}

static void write_error(struct tc_bridge *bridge, const char *id, const char *text)
{
    struct tc_text line;
    if (!id || !tc_text_begin(&line)) {
        bridge->failed = true;
        return;
    }
    tc_rpc_refuse(line.out, id, REFUSED, text);
    size_t length = line.length;
    _autofree_ char *bytes = tc_text_finish(&line);
    if (bytes)
        write_line(bridge, bytes, length);
    bridge->failed |= !bytes;
}

void tc_relay_error(struct tc_transfer *t, const char *text)
{
    t->answered = true;
    write_error(t->bridge, t->id ? t->id : "null", text);
}

static bool is_own(const struct tc_transfer *t, struct tc_slice id)
{
    _autofree_ char *key = tc_rpc_key(id);
    t->bridge->failed |= !key;
    return key && t->key && strcmp(key, t->key) == 0;
}

/* The session and the version apply from this response on. */
static void begin_session(struct tc_transfer *t, struct tc_slice result)
{
    struct tc_bridge *bridge = t->bridge;
    struct tc_slice version;
    size_t length = 0;
    memcpy(bridge->session, t->session, sizeof(bridge->session));
    (void)tc_scan_member(result, "protocolVersion", &version);
    _autofree_ char *text = tc_scan_text(version, &length);
    size_t good = text ? strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz.-") : 0;
    bool fine = good && good == length && length < sizeof(bridge->version);
    (void)snprintf(bridge->version, sizeof(bridge->version), "%s", fine ? text : "");
    free(bridge->greeting);
    bridge->greeting = strndup(result.at, result.length);
    bridge->failed |= !bridge->greeting;
}

static void take_response(struct tc_transfer *t, const struct tc_rpc *rpc, const char *text,
                          size_t length)
{
    if (t->answered || !is_own(t, rpc->id)) {
        tc_bridge_note("a response to no open request of its stream was dropped");
        return;
    }
    t->answered = true;
    t->at_ms = tc_bridge_now_ms() + LINGER_MS;
    if (t->kind == TC_TRANSFER_RENEW) {
        const char *before = t->bridge->greeting;
        /* the client knows only the first result */
        t->renewed = rpc->result.at && before && strlen(before) == rpc->result.length &&
                     memcmp(before, rpc->result.at, rpc->result.length) == 0;
        if (t->renewed)
            begin_session(t, rpc->result);
        return;
    }
    if (t->hello && rpc->result.at)
        begin_session(t, rpc->result);
    write_line(t->bridge, text, length);
}

void tc_relay_message(struct tc_transfer *t, const char *text, size_t length)
{
    struct tc_slice whole = tc_scan_whole(text, length);
    struct tc_rpc rpc = whole.at ? tc_rpc_read(whole) : (struct tc_rpc){0};
    if (rpc.shape == TC_SHAPE_RESPONSE) {
        take_response(t, &rpc, text, length);
    } else if (rpc.shape == TC_SHAPE_NONE) {
        tc_bridge_note("what is not one JSON-RPC message was dropped");
    } else if (t->kind != TC_TRANSFER_RENEW) {
        t->tries = 0;
        write_line(t->bridge, text, length);
    }
}

bool tc_relay_is_error(const struct tc_transfer *t, const char *text, size_t length)
{
    struct tc_slice whole = tc_scan_whole(text, length);
    struct tc_rpc rpc = whole.at ? tc_rpc_read(whole) : (struct tc_rpc){0};
    return rpc.shape == TC_SHAPE_RESPONSE && rpc.error.at && is_own(t, rpc.id);
}

/* ---- to the server ---- */

static size_t count_kind(const struct tc_bridge *bridge, enum tc_transfer_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < bridge->count; i++)
        count += bridge->transfers[i]->kind == kind;
    return count;
}

bool tc_relay_is_open(const struct tc_bridge *bridge)
{
    for (size_t i = 0; i < bridge->count; i++) {
        const struct tc_transfer *t = bridge->transfers[i];
        bool first = t->kind == TC_TRANSFER_RENEW || t->ready || t->hello;
        if (first && !t->answered)
            return false;
    }
    return count_kind(bridge, TC_TRANSFER_TELL) < TC_BRIDGE_TELL_MAX && !bridge->renewing;
}

/* A cancelled request gets no response: its stream ends soon. */
static void cancel_request(struct tc_bridge *bridge, struct tc_slice params)
{
    struct tc_slice id = {0};
    if (!tc_scan_member(params, "requestId", &id) || !id.at)
        return;
    for (size_t i = 0; i < bridge->count; i++) {
        struct tc_transfer *t = bridge->transfers[i];
        if (t->kind != TC_TRANSFER_ASK || t->hello || t->answered || !is_own(t, id))
            continue;
        t->answered = true;
        t->at_ms = tc_bridge_now_ms() + LINGER_MS;
    }
}

static void begin_request(struct tc_transfer *t, const struct tc_rpc *rpc)
{
    struct tc_bridge *bridge = t->bridge;
    t->id = strndup(rpc->id.at, rpc->id.length);
    t->key = tc_rpc_key(rpc->id);
    bridge->failed |= !t->id || !t->key;
    t->hello = tc_scan_is(rpc->method, "initialize");
    if (!t->hello)
        return;
    free(bridge->hello);
    bridge->hello = strndup(t->text, t->length);
    bridge->failed |= !bridge->hello;
}

void tc_relay_line(struct tc_bridge *bridge, const char *line, size_t length)
{
    struct tc_slice whole = tc_scan_whole(line, length);
    struct tc_rpc rpc = whole.at ? tc_rpc_read(whole) : (struct tc_rpc){0};
    if (rpc.shape == TC_SHAPE_NONE) {
        tc_bridge_note("a line of the client that is not a JSON-RPC message was dropped");
        return;
    }
    bool asks = rpc.shape == TC_SHAPE_REQUEST;
    if (asks && count_kind(bridge, TC_TRANSFER_ASK) >= TC_BRIDGE_OPEN_MAX) {
        _autofree_ char *id = strndup(rpc.id.at, rpc.id.length);
        write_error(bridge, id, "too many requests wait for the server (64); try again later");
        return;
    }
    char *copy = strndup(whole.at, whole.length);
    struct tc_transfer *t =
        tc_transfer_new(bridge, asks ? TC_TRANSFER_ASK : TC_TRANSFER_TELL, copy, whole.length);
    if (!t || !copy) {
        bridge->failed = true;
        return;
    }
    if (asks)
        begin_request(t, &rpc);
    if (rpc.shape == TC_SHAPE_NOTIFICATION && tc_scan_is(rpc.method, "notifications/cancelled"))
        cancel_request(bridge, rpc.params);
    t->ready = tc_scan_is(rpc.method, "notifications/initialized");
    tc_transfer_begin(t);
}

struct tc_transfer *tc_relay_notify(struct tc_bridge *bridge, const char *method)
{
    char *text = NULL;
    int length = asprintf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", method);
    if (length < 0) {
        bridge->failed = true;
        return NULL;
    }
    struct tc_transfer *t = tc_transfer_new(bridge, TC_TRANSFER_TELL, text, (size_t)length);
    if (t)
        tc_transfer_begin(t);
    return t;
}
