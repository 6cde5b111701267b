/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The server of tools over HTTP, one thread, one loop: connections (wires), the requests on them
 * (exchanges), and the clients that they come from (sessions). Whoever connects may be a page in a
 * browser or another user of this machine; nothing is done for it before it was admitted. */
#ifndef TC_MCP_HTTP_WEB_H
#define TC_MCP_HTTP_WEB_H

#include <microhttpd.h>
#include <stdint.h>

#include "mcp/lines.h"
#include "mcp/server.h"

enum {
    TC_WEB_BODY_MAX = TC_LINE_MAX, /* of one message */
    TC_WEB_HELD_MAX = 64 << 20,  /* of messages that come in and answers that wait, all together */
    TC_WEB_UNREAD_MAX = 1 << 20, /* of one stream: then its client may ask nothing more */
    TC_WEB_WIRES_MAX = 192,      /* beyond it, the one that has done nothing for longest goes */
    TC_WEB_SESSIONS_MAX = 64,
    TC_WEB_HEAD_MS = 15000,     /* until a request is admitted */
    TC_WEB_BODY_MS = 60000,     /* then, until its body is there */
    TC_WEB_READ_MS = 60000,     /* for the client to take something of what it is sent */
    TC_WEB_PATIENCE_MS = 10000, /* an answer that takes longer becomes a stream */
    TC_WEB_BREATH_MS = 15000,   /* between signs of life in a stream */
};

/* What it was told to be; all borrowed. */
struct tc_web_config {
    const char *token;  /* NULL: everybody who reaches it may use it */
    const char **hosts; /* names that clients may have for it, NULL-terminated */
    unsigned port;
    const char *certificate, *key; /* PEM; NULL: no TLS */
    int64_t idle_ms;               /* how long a session may be silent */
};

/* One connection. */
struct tc_mcp_http_wire {
    struct tc_mcp_http_wire *next, **at;
    struct tc_web *web;
    int fd;
    bool admitted;       /* a request that may be worked on */
    int64_t deadline_ms; /* 0: none */
};

struct tc_client {
    struct tc_mcp_session core; /* first: a session is found by it */
    struct tc_client *next, **at;
    struct tc_web *web;
    char id[65];                /* "" for one that lives for a single request */
    struct tc_exchange *stream; /* of the older transport: where all answers go */
    bool old;                   /* of the older transport */
    int64_t used_ms;
};

enum tc_route { TC_ROUTE_MCP, TC_ROUTE_SSE, TC_ROUTE_MESSAGES };

/* One request of HTTP. */
struct tc_exchange {
    struct tc_exchange *next, **at;
    struct tc_web *web;
    struct MHD_Connection *connection;
    struct tc_mcp_http_wire *wire;
    enum tc_route route;
    const char *method;
    char *body;
    size_t length, size;
    struct tc_client *once;   /* its own, when it belongs to no session */
    struct tc_client *client; /* that it belongs to, while it waits for an answer */
    const char *new_session;  /* borrowed: for the head of the answer */
    bool taken;               /* the message was handed on */
    bool stateless, takes_json, takes_stream;
    bool suspended, gone;
    char *answer; /* whole, owned; NULL: none yet */
    size_t answer_length;
    int status;
    bool streaming, ended;
    struct tc_outbox unread; /* of the stream */
    int64_t since_ms, breath_ms;
};

struct tc_web {
    struct tc_web_config config;
    struct tc_mcp server;
    struct MHD_Daemon *daemon;
    struct tc_mcp_http_wire *wires;
    struct tc_client *clients;
    struct tc_exchange *exchanges;
    size_t wire_count, client_count, held;
};

/* heads.c: the head's lines, each at most once. */
struct tc_heads {
    const char *host, *origin, *authorization, *type, *length, *transfer, *session, *version,
        *method, *name;
    const char *twice; /* the name of one that stands twice, or cannot be read */
    bool loose;        /* a line of it does not end as it must, or is folded */
    bool accepts_anything, accepts_json, accepts_stream, has_accept;
};

void tc_heads_read(struct MHD_Connection *connection, struct tc_heads *ret);
/* Does each line end in CR LF, and is none folded? The words are those of the request line, as the
 * library has them. */
bool tc_heads_are_plain(struct MHD_Connection *connection, const char *method, const char *version);

struct tc_refusal {
    unsigned status;
    const char *text;
    const char *header, *value; /* one more line of the answer's head; NULL: none */
};

/* admit.c: is this request one that may be heard? *ret_route says what for. False: *ret says why
 * not. */
bool tc_admit(const struct tc_web *web, const struct tc_heads *heads, const char *url,
              const char *method, enum tc_route *ret_route, struct tc_refusal *ret);

/* wires.c */
int64_t tc_web_now_ms(void);
void tc_wire_notify(void *web, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode code);
/* Ends those whose time is over. */
void tc_wires_tick(struct tc_web *web, int64_t now_ms);

/* clients.c: NULL without memory, or where there are too many, of which none is idle. */
struct tc_client *tc_client_new(struct tc_web *web, bool once);
struct tc_client *tc_client_find(struct tc_web *web, const char *id, bool old);
void tc_client_free(struct tc_client *client);
void tc_clients_tick(struct tc_web *web, int64_t now_ms);

/* exchange.c */
enum MHD_Result tc_exchange_take(void *web, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *length, void **context);
void tc_exchange_completed(void *web, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode why);
/* What it is answered, as the body of a status; `code` is of JSON-RPC, and its id is unknown. */
void tc_exchange_refuse(struct tc_exchange *exchange, int status, int code, const char *text);
void tc_exchange_accept(struct tc_exchange *exchange); /* 202, and no more to say */
bool tc_exchange_send(struct tc_mcp_session *session, void *asker, int code, const char *text,
                      size_t length);
/* The other end has closed: there is nobody to answer. */
void tc_exchange_lose(struct tc_exchange *exchange);
void tc_exchanges_tick(struct tc_web *web, int64_t now_ms);

/* stream.c */
enum MHD_Result tc_stream_begin(struct tc_exchange *exchange);
/* False: no memory. */
bool tc_stream_put(struct tc_exchange *exchange, const char *event, const char *text);
void tc_exchange_suspend(struct tc_exchange *exchange);
void tc_exchange_wake(struct tc_exchange *exchange);

/* post.c: the message of an exchange, by the rules of its transport and version. */
void tc_post_take(struct tc_exchange *exchange);

#endif
