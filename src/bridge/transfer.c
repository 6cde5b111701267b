/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One HTTP request. Redirects are not followed, no cookies are kept, and nothing of a response is
 * buffered beyond its limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bridge/bridge.h"
#include "mcp/wrap.h"
#include "text/base64.h"

enum {
    HEADS_MAX = 256 << 10,
    FAULT_MAX = 64 << 10, /* of a response that is an error */
    CONNECT_MS = 20000,
    HELLO_MS = 60000, /* nothing else is sent meanwhile */
    RENEW_MS = 20000,
    TELL_MS = 10000,
    LEAVE_MS = 1000
};

/* ---- the response ---- */

static void take_message(void *userdata, const char *text, size_t length)
{
    struct tc_transfer *t = userdata;
    t->bridge->take(t, text, length);
}

/* Reads the kind of the response at the end of its head. */
static void judge_head(struct tc_transfer *t, long status)
{
    const char *type = NULL;
    (void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    size_t length = type ? strcspn(type, "; \t") : 0;
    t->json = length == 16 && strncasecmp(type, "application/json", length) == 0;
    t->stream =
        status == 200 && length == 17 && strncasecmp(type, "text/event-stream", length) == 0;
    t->body.max = status == 200 ? TC_SSE_MAX : FAULT_MAX;
}

static size_t take_body(char *bytes, size_t one, size_t count, void *userdata)
{
    struct tc_transfer *t = userdata;
    size_t length = one * count;
    if (t->stream) {
        t->large = !tc_sse_add(&t->events, bytes, length, take_message, t);
        return t->large || t->bridge->failed ? 0 : length;
    }
    tc_buf_add(&t->body, bytes, length);
    t->large = t->body.failed;
    return t->large ? 0 : length;
}

/* The id of a session: visible ASCII. */
static void take_session(struct tc_transfer *t, const char *value, size_t length)
{
    while (length && strchr(" \t\r\n", value[length - 1]))
        length--;
    while (length && strchr(" \t", *value)) {
        value++;
        length--;
    }
    bool fine = length < sizeof(t->session);
    for (size_t i = 0; fine && i < length; i++)
        fine = value[i] >= '!' && value[i] <= '~';
    t->odd |= !fine;
    (void)snprintf(t->session, sizeof(t->session), "%.*s", fine ? (int)length : 0, value);
}

static size_t take_head(char *bytes, size_t one, size_t count, void *userdata)
{
    static const char name[] = "mcp-session-id:", begin[] = "HTTP/";
    struct tc_transfer *t = userdata;
    size_t length = one * count;
    long status = 0;
    t->head_bytes += length;
    if (length >= sizeof(begin) - 1 && memcmp(bytes, begin, sizeof(begin) - 1) == 0 && !t->resumes)
        t->session[0] = '\0'; /* that of an interim response, such as 103 */
    if (length >= sizeof(name) - 1 && strncasecmp(bytes, name, sizeof(name) - 1) == 0)
        take_session(t, bytes + sizeof(name) - 1, length - (sizeof(name) - 1));
    t->odd |= t->head_bytes > HEADS_MAX;
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (length <= 2 && status >= 200)
        judge_head(t, status);
    return t->odd ? 0 : length;
}

/* ---- the request ---- */

char *tc_transfer_value(const char *text, size_t length)
{
    static const char digits[] = TC_BASE64_DIGITS;
    bool plain = length && text[0] != ' ' && text[length - 1] != ' ' && strncmp(text, "=?", 2) != 0;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; plain && i < length; i++)
        plain = text[i] >= ' ' && text[i] <= '~';
    if (plain)
        return strndup(text, length);
    tc_buf_adds(&out, "=?base64?");
    for (size_t i = 0; i < length; i += 3) {
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < length ? (unsigned char)text[i + k] : 0U);
        for (size_t k = 0; k < 4; k++)
            tc_buf_addc(&out, i + k > length ? '=' : digits[bits >> (18 - 6 * k) & 0x3f]);
    }
    tc_buf_adds(&out, "?=");
    return tc_buf_steal(&out);
}

static void add_head(struct tc_transfer *t, const char *name, const char *value)
{
    _autofree_ char *line = NULL;
    struct curl_slist *more = NULL;
    if (asprintf(&line, "%s: %s", name, value) >= 0)
        more = curl_slist_append(t->heads, line);
    else
        line = NULL;
    if (more)
        t->heads = more;
    else
        t->bridge->failed = true;
}

/* A string of the message as a header. */
static void add_string(struct tc_transfer *t, const char *name, struct tc_slice value)
{
    size_t length = 0;
    if (!tc_scan_is_string(value))
        return;
    _autofree_ char *text = tc_scan_text(value, &length);
    _autofree_ char *line = text ? tc_transfer_value(text, length) : NULL;
    if (line)
        add_head(t, name, line);
    else
        t->bridge->failed = true;
}

/* Since 2026-07-28 there is no session, and the headers repeat parts of the message. */
static void add_stateless(struct tc_transfer *t, const struct tc_rpc *rpc)
{
    struct tc_slice meta, version, name = {0};
    (void)tc_scan_member(rpc->params, "_meta", &meta);
    (void)tc_scan_member(meta, "io.modelcontextprotocol/protocolVersion", &version);
    add_string(t, "MCP-Protocol-Version", version);
    add_string(t, "Mcp-Method", rpc->method);
    if (tc_scan_is(rpc->method, "tools/call") || tc_scan_is(rpc->method, "prompts/get"))
        (void)tc_scan_member(rpc->params, "name", &name);
    else if (tc_scan_is(rpc->method, "resources/read"))
        (void)tc_scan_member(rpc->params, "uri", &name);
    add_string(t, "Mcp-Name", name);
}

static void add_heads(struct tc_transfer *t)
{
    struct tc_bridge *bridge = t->bridge;
    bool get = t->kind == TC_TRANSFER_LISTEN || t->resumes;
    struct tc_rpc rpc = {0};
    if (t->text)
        rpc = tc_rpc_read(tc_scan_whole(t->text, t->length));
    bool alone = rpc.params.at && tc_rpc_is_stateless(rpc.params);
    bool fresh = t->hello || t->kind == TC_TRANSFER_RENEW;
    const char *session = !fresh ? bridge->session : t->resumes ? t->session : "";
    add_head(t, "Accept", get ? "text/event-stream" : "application/json, text/event-stream");
    if (!get && t->text)
        add_head(t, "Content-Type", "application/json");
    add_head(t, "Expect", ""); /* "Expect:" removes the header */
    if (alone)
        add_stateless(t, &rpc);
    if (!alone && !fresh && bridge->version[0])
        add_head(t, "MCP-Protocol-Version", bridge->version);
    if (!alone && session[0])
        add_head(t, "Mcp-Session-Id", session);
    if (get && t->events.id[0])
        add_head(t, "Last-Event-ID", t->events.id);
}

/* The cage's file of trusted certificates has the proxy's authority. */
static const char *find_authorities(void)
{
    const char *path = getenv("CURL_CA_BUNDLE");
    return path ? path : getenv("SSL_CERT_FILE");
}

/* 0: none. */
static long time_limit(const struct tc_transfer *t)
{
    return t->kind == TC_TRANSFER_TELL    ? TELL_MS
           : t->kind == TC_TRANSFER_LEAVE ? LEAVE_MS
           : t->kind == TC_TRANSFER_RENEW ? RENEW_MS
           : t->hello                     ? HELLO_MS
                                          : 0;
}

static void set_up(struct tc_transfer *t)
{
    const char *authorities = find_authorities();
    CURL *curl = t->easy;
    curl_easy_setopt(curl, CURLOPT_URL, t->bridge->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "toolcage");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, t->heads);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->fault);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, t);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (authorities)
        curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
    if (t->text && !t->resumes) {
        /* on a used connection that closes, libcurl sends a request a second time */
        curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->length);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, t->text);
    }
    if (t->kind == TC_TRANSFER_LEAVE)
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, time_limit(t));
}

void tc_transfer_begin(struct tc_transfer *t)
{
    tc_transfer_stop(t);
    tc_buf_done(&t->body);
    t->body = (struct tc_buf){0};
    t->json = t->stream = t->large = t->odd = false;
    t->head_bytes = 0;
    t->at_ms = 0;
    t->era = t->bridge->era;
    t->fault[0] = '\0';
    if (!t->resumes)
        t->session[0] = '\0';
    tc_sse_again(&t->events);
    t->easy = curl_easy_init();
    add_heads(t);
    if (!t->easy || t->bridge->failed) {
        t->bridge->failed = true;
        return;
    }
    set_up(t);
    if (curl_multi_add_handle(t->bridge->multi, t->easy) != CURLM_OK)
        t->bridge->failed = true;
}

void tc_transfer_stop(struct tc_transfer *t)
{
    if (t->easy) {
        (void)curl_multi_remove_handle(t->bridge->multi, t->easy);
        curl_easy_cleanup(t->easy);
    }
    t->easy = NULL;
    curl_slist_free_all(t->heads);
    t->heads = NULL;
}

struct tc_transfer *tc_transfer_new(struct tc_bridge *bridge, enum tc_transfer_kind kind,
                                    char *text, size_t length)
{
    size_t room = sizeof(bridge->transfers) / sizeof(bridge->transfers[0]);
    struct tc_transfer *t = bridge->count < room ? calloc(1, sizeof(*t)) : NULL;
    if (!t) {
        free(text);
        bridge->failed = true;
        return NULL;
    }
    t->bridge = bridge;
    t->kind = kind;
    t->text = text;
    t->length = length;
    bridge->transfers[bridge->count++] = t;
    return t;
}

void tc_transfer_free(struct tc_transfer *t)
{
    struct tc_bridge *bridge = t->bridge;
    for (size_t i = 0; i < bridge->count; i++)
        if (bridge->transfers[i] == t) {
            bridge->transfers[i] = bridge->transfers[--bridge->count];
            break;
        }
    tc_transfer_stop(t);
    tc_sse_done(&t->events);
    tc_buf_done(&t->body);
    free(t->text);
    free(t->id);
    free(t->key);
    free(t);
}
