/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-bridge: lines on its standard streams become requests to an MCP server over Streamable
 * HTTP, and the server's messages become lines. It runs in a cage whose network is that server's
 * host. It has no token: the egress proxy adds it. The server is not trusted: what it sends is
 * limited in size, and toolcage wrap checks each line. */
#ifndef TC_BRIDGE_BRIDGE_H
#define TC_BRIDGE_BRIDGE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "bridge/sse.h"
#include "mcp/lines.h"
#include "mcp/scan.h"

enum {
    TC_BRIDGE_OPEN_MAX = 64, /* requests that wait for their response */
    TC_BRIDGE_TELL_MAX = 8,  /* other messages that wait for theirs */
    TC_BRIDGE_SESSION_SIZE = 1025,
    TC_BRIDGE_VERSION_SIZE = 33,
};

enum tc_transfer_kind {
    TC_TRANSFER_ASK,    /* a request of the client */
    TC_TRANSFER_TELL,   /* a notification or a response of the client */
    TC_TRANSFER_LISTEN, /* the stream of the server's own messages */
    TC_TRANSFER_RENEW,  /* initialize again, after the server has ended the session */
    TC_TRANSFER_LEAVE,  /* the end of the session */
};

struct tc_transfer {
    struct tc_bridge *bridge;
    enum tc_transfer_kind kind;
    CURL *easy; /* NULL: it waits, until `at_ms` or for the new session */
    struct curl_slist *heads;
    char *text; /* the message, owned; NULL: none */
    size_t length;
    char *id, *key; /* of a request; key: normalized */
    bool hello;     /* initialize */
    bool ready;     /* notifications/initialized */
    bool resumes;   /* the next part of a stream that broke off */
    bool renewed;   /* was sent again in a new session */
    bool answered;
    int64_t at_ms;  /* when it begins or, if it was answered, ends; 0: never */
    unsigned tries; /* in a row, without an event */
    unsigned era;   /* the session in which it was sent */
    /* the response */
    bool json, stream, large;
    bool odd; /* its headers are not valid */
    size_t head_bytes;
    struct tc_buf body;
    struct tc_sse events;
    char session[TC_BRIDGE_SESSION_SIZE], fault[CURL_ERROR_SIZE];
};

struct tc_bridge {
    const char *url, *server; /* server: its place in the policy, "server.notes" */
    char *shown;              /* the URL without its query, which may be a secret; owned */
    char *const *secrets;     /* names, NULL-terminated */
    CURLM *multi;
    struct tc_transfer *transfers[TC_BRIDGE_OPEN_MAX + TC_BRIDGE_TELL_MAX + 4];
    size_t count;
    struct tc_lines lines;
    char session[TC_BRIDGE_SESSION_SIZE], version[TC_BRIDGE_VERSION_SIZE];
    char *hello, *greeting; /* initialize, and its result; owned */
    bool moved;             /* the operator knows that the server named another session */
    bool ended, failed, renewing;
    unsigned era; /* the number of sessions before this one */
    /* for each message of the server */
    void (*take)(struct tc_transfer *transfer, const char *text, size_t length);
};

/* say.c */
int64_t tc_bridge_now_ms(void);
/* A line for the operator; toolcage wrap escapes it. */
void tc_bridge_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* transfer.c. Takes `text`, also on failure. NULL: out of memory, which is recorded. */
struct tc_transfer *tc_transfer_new(struct tc_bridge *bridge, enum tc_transfer_kind kind,
                                    char *text, size_t length);
/* Begins the transfer, or begins it again. */
void tc_transfer_begin(struct tc_transfer *transfer);
/* Ends its connection; the transfer stays. */
void tc_transfer_stop(struct tc_transfer *transfer);
void tc_transfer_free(struct tc_transfer *transfer);
/* A text as the value of a header, base64 if necessary; owned. NULL: out of memory. */
char *tc_transfer_value(const char *text, size_t length);

/* relay.c: messages of both sides. */
/* May the next line of the client be sent now? Messages keep the order in which they matter. */
bool tc_relay_is_open(const struct tc_bridge *bridge);
void tc_relay_line(struct tc_bridge *bridge, const char *line, size_t length);
/* Is the text one response to the transfer's request that says an error? */
bool tc_relay_is_error(const struct tc_transfer *transfer, const char *text, size_t length);
/* A message of the server, in the response of this transfer. */
void tc_relay_message(struct tc_transfer *transfer, const char *text, size_t length);
void tc_relay_error(struct tc_transfer *transfer, const char *text);
struct tc_transfer *tc_relay_notify(struct tc_bridge *bridge, const char *method);

/* outcome.c */
/* The transfer's connection has ended. */
void tc_outcome_take(struct tc_transfer *transfer, CURLcode rc);
/* What is due: begins streams again, and ends those that were answered. */
void tc_outcome_tick(struct tc_bridge *bridge);

#endif
