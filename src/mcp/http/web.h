/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The MCP server over HTTP. One thread handles the connections (wires), their requests (exchanges)
 * and the clients' sessions. A connection may come from a web page in a browser or from another
 * user of this host: the server does nothing for a request before tc_admit() has accepted it. */
#ifndef TC_MCP_HTTP_WEB_H
#define TC_MCP_HTTP_WEB_H

#include <microhttpd.h>
#include <stdint.h>

#include "mcp/lines.h"
#include "mcp/server.h"
#include "serve/api.h"

enum {
    TC_WEB_BODY_MAX = TC_LINE_MAX, /* bytes of one message */
    TC_WEB_HELD_MAX = 64 << 20,    /* bytes of all requests' bodies and unsent responses together */
    TC_WEB_UNREAD_MAX =
        1 << 20, /* unsent bytes of one stream; above it the client's requests are refused */
    TC_WEB_WIRES_MAX =
        192, /* above it, the connection that is longest without a whole request is closed */
    TC_WEB_CLIENT_WIRES_MAX = 224, /* above it, only an operator's requests are served */
    TC_WEB_SESSIONS_MAX = 64,
    TC_WEB_HEAD_MS = 15000,     /* from connection to an admitted request */
    TC_WEB_BODY_MS = 60000,     /* from admission to the complete body */
    TC_WEB_READ_MS = 60000,     /* the longest time in which a client reads nothing of a response */
    TC_WEB_PATIENCE_MS = 10000, /* a response that takes longer is sent as a stream (SSE) */
    TC_WEB_BREATH_MS = 15000,   /* between the keep-alive comments of a stream */
};

/* The parsed config; all pointers are borrowed. */
struct tc_web_config {
    const char *token; /* NULL: no token is required */
    const char
        *operator_token; /* of a person who answers approvals and starts no call; NULL: none */
    bool console;        /* serve the operator's web page */
    const char **hosts;  /* host names that clients may use, NULL-terminated */
    unsigned port;
    const char *certificate, *key; /* PEM; NULL: no TLS */
    int64_t idle_ms;               /* maximum idle time of a session */
    size_t calls_max;              /* of the API; 0: no API */
    bool local;                    /* a unix socket: only this user's processes are served */
};

/* One connection. */
struct tc_mcp_http_wire {
    struct tc_mcp_http_wire *next, **at;
    struct tc_web *web;
    int fd;
    bool admitted;       /* one of its requests has arrived whole and is not completed */
    int64_t since_ms;    /* when it was opened, or its last request completed */
    int64_t deadline_ms; /* the connection is closed then; 0: never */
};

/* A client's MCP session, or one stateless request. */
struct tc_client {
    struct tc_mcp_session core; /* must be first: a session is cast to its client */
    struct tc_client *next, **at;
    struct tc_web *web;
    char id[65];                /* "" for a client of one stateless request */
    struct tc_exchange *stream; /* SSE transport: the stream for all responses; else the stream for
                                   messages that belong to no request; NULL: none */
    bool old;                   /* uses the SSE transport of before 2025-03-26 */
    int64_t used_ms;
};

enum tc_route { TC_ROUTE_MCP, TC_ROUTE_SSE, TC_ROUTE_MESSAGES, TC_ROUTE_API, TC_ROUTE_PAGE };

/* What a request was admitted for. */
struct tc_admitted {
    enum tc_route route;
    bool runs;     /* the client may start calls */
    bool operates; /* the client may answer approvals and read the audit log */
};

/* One HTTP request. */
struct tc_exchange {
    struct tc_exchange *next, **at;
    struct tc_web *web;
    struct MHD_Connection *connection;
    struct tc_mcp_http_wire *wire;
    enum tc_route route;
    bool runs, operates;       /* see struct tc_admitted */
    const char *method, *path; /* libmicrohttpd's */
    char *body;
    size_t length, size;
    struct tc_client *once;   /* of a stateless request: the client that exists only for it */
    struct tc_client *client; /* whose session handles the request, while the response is pending */
    const char *new_session; /* id of a session that the request created, for the response header */
    bool taken;              /* the message was passed to the server */
    bool stateless, takes_json, takes_stream;
    bool suspended, gone;
    char *answer; /* complete response, owned; NULL: none yet */
    size_t answer_length;
    int status;
    const char *type;  /* of the answer; NULL: JSON */
    const char *allow; /* the answer's header Allow; NULL: none */
    bool streaming, ended;
    struct tc_outbox unread;      /* stream data not sent yet */
    struct tc_api_result *result; /* sent after it; NULL: none */
    size_t result_at;
    int64_t since_ms, breath_ms;
};

struct tc_web {
    struct tc_web_config config;
    struct tc_mcp server;
    struct tc_api *api; /* NULL: none */
    struct MHD_Daemon *daemon;
    struct tc_mcp_http_wire *wires;
    struct tc_client *clients;
    struct tc_exchange *exchanges;
    size_t wire_count, client_count, held;
};

/* heads.c: the request's header fields, each at most once. */
struct tc_heads {
    const char *host, *origin, *authorization, *type, *length, *transfer, *session, *version,
        *method, *name, *key;
    const char *twice; /* name of a repeated or invalid field */
    bool loose;        /* a header line does not end with CR LF, or is folded */
    bool odd;          /* a name has characters that names of fields do not have */
    bool accepts_anything, accepts_json, accepts_stream, has_accept;
};

void tc_heads_read(struct MHD_Connection *connection, struct tc_heads *ret);
/* Does each header line end with CR LF, without folding? `method` and `version` must point into
 * libmicrohttpd's request line. */
bool tc_heads_are_plain(struct MHD_Connection *connection, const char *method, const char *version);

struct tc_refusal {
    unsigned status;
    const char *text;
    const char *header, *value; /* an additional response header; NULL: none */
};

/* Is the body JSON? */
bool tc_heads_say_json(const struct tc_heads *heads);
/* admit.c: may this request be handled? False: *ret is the refusal. Anyone on this host may read
 * the files of the page (TC_ROUTE_PAGE). */
bool tc_admit(const struct tc_web *web, const struct tc_heads *heads, const char *url,
              const char *method, struct tc_admitted *ret_admitted, struct tc_refusal *ret);

/* wires.c */
void tc_wire_notify(void *web, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode code);
/* Closes connections past their deadline. */
void tc_wires_tick(struct tc_web *web, int64_t now_ms);

/* clients.c */
/* A new session, or with `once` a client for one stateless request. NULL: out of memory, or too
 * many sessions of which none is idle. */
struct tc_client *tc_client_new(struct tc_web *web, bool once);
/* The session with this id, of the SSE transport (`old`) or the current one; NULL: none. */
struct tc_client *tc_client_find(struct tc_web *web, const char *id, bool old);
void tc_client_free(struct tc_client *client);
/* Sends news to all clients. */
void tc_clients_tell(struct tc_web *web);
/* Ends sessions that were idle for too long. */
void tc_clients_tick(struct tc_web *web, int64_t now_ms);

/* exchange.c */
enum MHD_Result tc_exchange_take(void *web, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *length, void **context);
void tc_exchange_completed(void *web, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode why);
/* Answers with an HTTP status, and in the body a JSON-RPC error `code` that names no request. */
void tc_exchange_refuse(struct tc_exchange *exchange, int status, int code, const char *text);
void tc_exchange_accept(struct tc_exchange *exchange); /* 202 without a body */
bool tc_exchange_send(struct tc_mcp_session *session, void *asker, int code, const char *text,
                      size_t length);
/* On the stream of the request, which begins with the first one. */
enum tc_mcp_told tc_exchange_notify(struct tc_mcp_session *session, void *asker, const char *text,
                                    size_t length);
/* Ends a request that gets no response. */
void tc_exchange_end(struct tc_mcp_session *session, void *asker);
/* The client closed the connection, so no response can be sent. */
void tc_exchange_lose(struct tc_exchange *exchange);
void tc_exchanges_tick(struct tc_web *web, int64_t now_ms);

/* How the API's responses reach their clients. */
extern const struct tc_api_wire tc_exchange_wire;

/* page.c: sends a file of the page */
enum MHD_Result tc_page_send(struct MHD_Connection *connection, const char *url);

/* stream.c */
enum MHD_Result tc_stream_begin(struct tc_exchange *exchange);
/* False: out of memory. */
bool tc_stream_put(struct tc_exchange *exchange, const char *event, const char *text);
void tc_exchange_suspend(struct tc_exchange *exchange);
void tc_exchange_wake(struct tc_exchange *exchange);

/* post.c: handles an exchange's message by the rules of its transport and version. */
void tc_post_take(struct tc_exchange *exchange);

#endif
