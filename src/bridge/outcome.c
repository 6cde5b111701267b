/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the end of a request means: errors for the client, streams that go on, sessions that the
 * server has ended. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "mcp/wrap.h"

enum { TRIES_MAX = 5, SAID_MAX = 300 };

enum {
    OK = 200,
    ACCEPTED = 202,
    NO_CONTENT = 204,
    BAD_REQUEST = 400,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    NO_METHOD = 405,
    TOO_MANY = 429,
    SERVER_ERROR = 500,
    BAD_GATEWAY = 502
};

/* ---- texts ---- */

/* The server's text in the body of an error: of JSON-RPC, of OAuth, or of the proxy. */
static const char *find_words(const json_t *body)
{
    const json_t *error = json_object_get(body, "error");
    const char *words = json_string_value(json_object_get(error, "message"));
    words = words ? words : json_string_value(error);
    return words ? words : json_string_value(json_object_get(body, "message"));
}

static void add_words(struct tc_buf *out, const struct tc_transfer *t)
{
    json_t *body = t->json && t->body.len
                       ? json_loadb(t->body.data, t->body.len, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    const char *words = find_words(body);
    if (words && *words)
        tc_buf_adds(out, "; it says: ");
    for (size_t i = 0; words && words[i] && i < SAID_MAX; i++)
        tc_buf_addc(out, words[i] >= ' ' && words[i] <= '~' ? words[i] : '?');
    json_decref(body);
}

static void explain_token(struct tc_buf *out, const struct tc_bridge *bridge, long status)
{
    const char *server = bridge->server;
    if (!bridge->secrets[0])
        tc_buf_addf(out,
                    "%s requires a token (HTTP %ld): name its source in %s.secrets of the policy",
                    bridge->shown, status, server);
    else
        tc_buf_addf(out,
                    "%s refuses the token of %s.secrets.%s (HTTP %ld): renew it at its source, and "
                    "start this server again",
                    bridge->shown, server, bridge->secrets[0], status);
}

static void explain_status(struct tc_buf *out, const struct tc_transfer *t, long status)
{
    const struct tc_bridge *bridge = t->bridge;
    const char *url = bridge->shown;
    if (status == UNAUTHORIZED)
        explain_token(out, bridge, status);
    else if (status == FORBIDDEN && bridge->secrets[0])
        tc_buf_addf(out,
                    "%s refuses this request (HTTP 403): the token of %s.secrets.%s may lack "
                    "a permission",
                    url, bridge->server, bridge->secrets[0]);
    else if (status >= 300 && status < 400)
        tc_buf_addf(out,
                    "%s redirects (HTTP %ld), which is not followed: write the final address "
                    "as url of [%s]",
                    url, status, bridge->server);
    else if (status == NOT_FOUND && bridge->session[0])
        tc_buf_addf(out, "%s has ended the session (HTTP 404): start this server again", url);
    else if (status == OK)
        tc_buf_addf(out, "%s answered with neither JSON nor a stream of events", url);
    else
        tc_buf_addf(out, "%s answered with HTTP %ld", url, status);
    add_words(out, t);
}

/* Owned; NULL: out of memory. */
static char *explain_end(const struct tc_transfer *t, CURLcode rc, long status)
{
    struct tc_buf out = TC_BUF_INIT;
    const char *url = t->bridge->shown;
    long connect = 0; /* the status of the proxy, for a tunnel */
    (void)curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &connect);
    if (t->large)
        tc_buf_addf(&out, "a response of %s was larger than 8 MiB", url);
    else if (t->odd)
        tc_buf_addf(&out, "a response of %s has headers that are not valid", url);
    else if (connect == FORBIDDEN)
        tc_buf_addf(&out,
                    "%s is at an address that %s does not grant: network of this server needs an "
                    "entry for it",
                    url, t->bridge->server);
    else if (connect == BAD_GATEWAY)
        tc_buf_addf(&out, "%s cannot be reached: no connection could be made", url);
    else if (t->stream || (rc == CURLE_OK && status == OK && t->json))
        tc_buf_addf(&out, "%s ended its response without an answer to this request", url);
    else if (rc == CURLE_OK)
        explain_status(&out, t, status);
    else
        tc_buf_addf(&out, "the request to %s failed: %s", url,
                    t->fault[0] ? t->fault : curl_easy_strerror(rc));
    return tc_buf_steal(&out);
}

static void fail_request(struct tc_transfer *t, const char *why)
{
    if (!why)
        t->bridge->failed = true;
    else
        tc_bridge_note("%s", why);
    if (why && !t->answered)
        tc_relay_error(t, why);
}

/* ---- a session that the server has ended ---- */

static struct tc_transfer *find_waiting(const struct tc_bridge *bridge)
{
    for (size_t i = 0; i < bridge->count; i++)
        if (bridge->transfers[i]->kind == TC_TRANSFER_ASK && !bridge->transfers[i]->easy &&
            !bridge->transfers[i]->at_ms)
            return bridge->transfers[i];
    return NULL;
}

static void renew_session(struct tc_bridge *bridge)
{
    char *text = strdup(bridge->hello);
    struct tc_transfer *t =
        tc_transfer_new(bridge, TC_TRANSFER_RENEW, text, text ? strlen(text) : 0);
    if (!t || !text) {
        bridge->failed = true;
        return;
    }
    struct tc_slice id = {0};
    (void)tc_scan_member(tc_scan_whole(text, t->length), "id", &id);
    t->id = strndup(id.at, id.length);
    t->key = tc_rpc_key(id);
    bridge->failed |= !t->id || !t->key;
    bridge->renewing = true;
    bridge->session[0] = '\0';
    tc_transfer_begin(t);
}

/* The new session is ready, or there is none. */
static void end_renewal(struct tc_bridge *bridge, bool fine)
{
    struct tc_transfer *t;
    bridge->renewing = false;
    while (!bridge->failed && (t = find_waiting(bridge))) {
        if (fine) {
            tc_transfer_begin(t);
            continue;
        }
        fail_request(t, "the server has ended the session, and a new one is not like the first, or "
                        "did not begin in time: start this server again");
        tc_transfer_free(t);
    }
}

static void take_renewal(struct tc_transfer *t)
{
    struct tc_bridge *bridge = t->bridge;
    bool fine = t->renewed;
    bridge->era += fine;
    tc_transfer_free(t);
    struct tc_transfer *ready = fine ? tc_relay_notify(bridge, "notifications/initialized") : NULL;
    if (ready)
        ready->ready = true;
    else
        end_renewal(bridge, false);
}

/* ---- streams ---- */

static struct tc_transfer *find_listener(const struct tc_bridge *bridge)
{
    for (size_t i = 0; i < bridge->count; i++)
        if (bridge->transfers[i]->kind == TC_TRANSFER_LISTEN)
            return bridge->transfers[i];
    return NULL;
}

static void listen_to_server(struct tc_bridge *bridge)
{
    struct tc_transfer *old = find_listener(bridge);
    if (old)
        tc_transfer_free(old);
    struct tc_transfer *t = tc_transfer_new(bridge, TC_TRANSFER_LISTEN, NULL, 0);
    if (t)
        tc_transfer_begin(t);
}

/* Begins it again after the time that the server asked for, later after each failure. */
static void wait_for_next(struct tc_transfer *t)
{
    int64_t ms = t->events.retry_ms ? t->events.retry_ms : TC_SSE_RETRY_MS;
    for (unsigned i = 0; i < t->tries && ms < TC_SSE_RETRY_MAX_MS; i++)
        ms *= 2;
    t->tries++;
    tc_transfer_stop(t);
    t->at_ms = tc_bridge_now_ms() + (ms < TC_SSE_RETRY_MAX_MS ? ms : TC_SSE_RETRY_MAX_MS);
}

static void take_listener(struct tc_transfer *t, CURLcode rc, long status)
{
    bool broke = rc != CURLE_OK && !t->large && (t->stream || status == 0);
    if (t->stream && !t->large && !t->odd) {
        wait_for_next(t);
        return;
    }
    bool busy = rc == CURLE_OK && (status == TOO_MANY || status >= SERVER_ERROR);
    if ((broke || busy) && t->tries) { /* it was a stream before */
        wait_for_next(t);
        return;
    }
    if (rc == CURLE_OK ? status != NO_METHOD && status != NOT_FOUND : t->large)
        tc_bridge_note("the server's own messages are not received (HTTP %ld)", status);
    tc_transfer_free(t);
}

/* ---- all ---- */

/* Continues a stream that broke off, if its last event can be named. */
static bool resume_stream(struct tc_transfer *t, long status)
{
    bool broken = (t->stream || t->resumes) && !t->large && (status == OK || status == 0);
    if (!broken || !t->events.id[0] || t->tries >= TRIES_MAX)
        return false;
    t->resumes = true;
    wait_for_next(t);
    return true;
}

/* Sends it again in a new session, if the server has ended the first. */
static bool retry_request(struct tc_transfer *t, CURLcode rc, long status)
{
    struct tc_bridge *bridge = t->bridge;
    bool lost = rc == CURLE_OK && status == NOT_FOUND && bridge->hello &&
                (bridge->session[0] || bridge->renewing);
    if (!lost || t->hello || t->renewed || t->resumes)
        return false;
    t->renewed = true;
    tc_transfer_stop(t);
    t->at_ms = 0;
    if (t->era != bridge->era)
        tc_transfer_begin(t);
    else if (!bridge->renewing)
        renew_session(bridge);
    return true;
}

/* The version that a server refuses, for one, has its code and data in such an error. */
static bool has_error(const struct tc_transfer *t, CURLcode rc, long status)
{
    return rc == CURLE_OK && status >= BAD_REQUEST && status != UNAUTHORIZED &&
           status != FORBIDDEN && t->json && t->body.data &&
           tc_relay_is_error(t, t->body.data, t->body.len);
}

static void take_request(struct tc_transfer *t, CURLcode rc, long status)
{
    if (rc == CURLE_OK && status == OK && t->json && !t->answered)
        tc_relay_message(t, t->body.data ? t->body.data : "", t->body.len);
    if (!t->answered && (resume_stream(t, status) || retry_request(t, rc, status)))
        return;
    if (!t->answered && has_error(t, rc, status))
        tc_relay_message(t, t->body.data, t->body.len);
    if (!t->answered) {
        _autofree_ char *why = explain_end(t, rc, status);
        fail_request(t, why);
    }
    tc_transfer_free(t);
}

static void take_notice(struct tc_transfer *t, CURLcode rc, long status)
{
    struct tc_bridge *bridge = t->bridge;
    bool fine = rc == CURLE_OK && (status == OK || status == ACCEPTED || status == NO_CONTENT);
    bool ready = t->ready;
    if (!fine) {
        _autofree_ char *why = explain_end(t, rc, status);
        tc_bridge_note("a message of the client was not delivered: %s", why ? why : "");
    }
    tc_transfer_free(t);
    if (ready && fine)
        listen_to_server(bridge);
    if (ready && bridge->renewing)
        end_renewal(bridge, fine);
}

void tc_outcome_take(struct tc_transfer *t, CURLcode rc)
{
    struct tc_bridge *bridge = t->bridge;
    long status = 0;
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t->session[0] && bridge->session[0] && strcmp(t->session, bridge->session) != 0 &&
        !bridge->moved) {
        bridge->moved = true;
        tc_bridge_note("the server named another session in a response, which is ignored");
    }
    switch (t->kind) {
    case TC_TRANSFER_ASK:
        take_request(t, rc, status);
        break;
    case TC_TRANSFER_TELL:
        take_notice(t, rc, status);
        break;
    case TC_TRANSFER_RENEW:
        if (rc == CURLE_OK && status == OK && t->json && !t->answered)
            tc_relay_message(t, t->body.data ? t->body.data : "", t->body.len);
        take_renewal(t);
        break;
    case TC_TRANSFER_LISTEN:
        take_listener(t, rc, status);
        break;
    case TC_TRANSFER_LEAVE:
        tc_transfer_free(t);
        break;
    }
}

/* The end of a stream whose request was answered or cancelled. */
static void end_answered(struct tc_transfer *t)
{
    if (t->kind == TC_TRANSFER_RENEW)
        take_renewal(t);
    else
        tc_transfer_free(t);
}

void tc_outcome_tick(struct tc_bridge *bridge)
{
    int64_t now = tc_bridge_now_ms();
    for (size_t i = bridge->count; i-- > 0;) {
        struct tc_transfer *t = bridge->transfers[i];
        if (!t->at_ms || t->at_ms > now)
            continue;
        if (t->answered)
            end_answered(t);
        else if (!t->easy)
            tc_transfer_begin(t);
        if (i > bridge->count)
            i = bridge->count;
    }
}
