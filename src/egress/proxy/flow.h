/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A flow: one connection from the cage, with its connection outside. */
#ifndef TC_EGRESS_PROXY_FLOW_H
#define TC_EGRESS_PROXY_FLOW_H

#include "egress/proxy/loop.h"
#include "egress/proxy/resolve.h"
#include "egress/proxy/tls.h"
#include "egress/proxy/upstream.h"
#include "egress/read/reply.h"

enum tc_egress_stage {
    TC_FLOW_GREET,    /* reading the client's handshake */
    TC_FLOW_QUESTION, /* DNS queries over TCP */
    TC_FLOW_SEEK,     /* resolving, connecting; the client is not read */
    TC_FLOW_JOINED,   /* bytes are relayed */
    TC_FLOW_ENDING,   /* the client gets the remaining bytes; its input is dropped */
    TC_FLOW_DEAD,
};

/* The protocol that the client expects a reply in. */
enum tc_egress_speaks { TC_SPEAKS_BYTES, TC_SPEAKS_SOCKS, TC_SPEAKS_CONNECT, TC_SPEAKS_HTTP };

/* How the client's bytes are relayed. */
enum tc_egress_mode {
    TC_MODE_UNDECIDED, /* kept in `in` until the protocol is known */
    TC_MODE_STREAM,
    TC_MODE_REQUEST,   /* up to the end of the body; later bytes are kept in `in` */
    TC_MODE_WEBSOCKET, /* left in the kernel until the server sends 101 */
    TC_MODE_BETWEEN,   /* the response was delivered; `in` has the next request */
};

struct tc_egress_side {
    struct tc_egress_watch watch;
    char *pending; /* bytes that could not be sent yet */
    size_t at, len;
    struct tc_egress_tls *tls; /* TLS terminated here; NULL: plain bytes */
    bool eof;                  /* nothing more to read */
    bool shut;                 /* nothing more to write */
    bool cut;                  /* its output was broken off: no TLS close_notify is sent */
};

struct tc_egress_flow {
    struct tc_egress_side client, server;
    struct tc_egress_flow *prev, *next;
    enum tc_egress_role role;
    enum tc_egress_stage stage;
    enum tc_egress_speaks speaks;
    enum tc_egress_mode mode;
    bool greeted; /* SOCKS: the method is agreed on */
    bool literal; /* `to` is an address */
    bool masks;   /* mask secrets in the server's response */
    bool bound;   /* requests only: the server is not read before a request was allowed */
    bool proxied; /* requests are in proxy form */
    bool lacks;   /* of a published port: waits for a socket of PID 1 */
    struct tc_egress_host to;
    struct tc_egress_host at; /* of the open connection outside */
    struct tc_buf in;         /* the client's unprocessed bytes */
    struct tc_buf head;       /* the rewritten head of a request, for the server */
    struct tc_buf tail;       /* the server's last bytes, which may be the beginning of a secret */
    struct tc_buf answer;     /* an incomplete head of a response */
    struct tc_egress_http_rest rest;
    struct tc_egress_reply reply;
    struct tc_egress_kept kept;
    struct tc_egress_query *query;
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX];
    size_t address_count, address_next;
    struct tc_egress_way *way; /* through the upstream proxy; NULL: none */
    struct tc_egress_destination *destination;
    int64_t deadline;
    int64_t connect_until;
};

enum {
    TC_EGRESS_HEAD_US = 10000000, /* to receive a head, or the first bytes */
    TC_EGRESS_SEEK_US = 10000000, /* to connect outside */
    TC_EGRESS_END_US = 2000000,   /* for the client to read its last bytes */
    TC_EGRESS_IDLE_US = 600000000,
    TC_EGRESS_KEPT_US = 60000000, /* between two requests */
};

/* An idle flow needs no buffers. */
static inline void tc_egress_empty(struct tc_buf *buf)
{
    free(tc_buf_steal(buf));
}

void tc_egress_flow_deadline(struct tc_egress_proxy *p, struct tc_egress_flow *f, int64_t us);
/* Closes both connections; with `reset`, the client gets a reset. */
void tc_egress_flow_close(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool reset);
/* Records the denial, if `what` is one, replies to the client in its protocol, and ends the flow.
 * `what`: a tc_egress_reason or tc_egress_failure. */
void tc_egress_flow_refuse(struct tc_egress_proxy *p, struct tc_egress_flow *f, int what,
                           const char *why);
/* Sends the client its pending bytes, then ends the flow. */
void tc_egress_flow_end(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Ends the connection outside in order; the next request opens another. */
void tc_egress_flow_leave(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Updates the watched events; must be called after every change of the flow. */
void tc_egress_flow_watch(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* May the server be read? Not before a TLS client's server has proved its identity. */
bool tc_egress_hears(const struct tc_egress_flow *f);
/* Whether close() sends a reset. */
void tc_egress_set_reset(int fd, bool reset);
/* Options of a new socket. */
void tc_egress_set_nodelay(int fd);
void tc_egress_bound_buffers(int fd, size_t flows);
/* Counts relayed bytes, from the tool's point of view. */
void tc_egress_flow_count(struct tc_egress_proxy *p, const struct tc_egress_flow *f, size_t len,
                          bool to_server);
/* flows.c: all flows. */
struct tc_egress_flow *tc_egress_flow_new(struct tc_egress_proxy *p, int fd,
                                          enum tc_egress_role role);
/* Closes the connection that has waited longest for another request. False: none waits. */
bool tc_egress_flows_spare(struct tc_egress_proxy *p);
/* Does no client wait for a response? */
bool tc_egress_flows_idle(const struct tc_egress_proxy *p);
/* Ends flows past their deadline, and frees closed ones. */
void tc_egress_flows_tick(struct tc_egress_proxy *p);
/* At the end: lets the kernel deliver requests that were sent completely. */
void tc_egress_flows_leave(struct tc_egress_proxy *p);
/* Is everything that clients sent now in the kernel? */
bool tc_egress_flows_sent(const struct tc_egress_proxy *p);

/* side.c: sends, or keeps what the kernel does not accept. False: the connection is broken. */
bool tc_egress_side_send(struct tc_egress_proxy *p, struct tc_egress_side *to, const char *bytes,
                         size_t len);
/* Sends the pending output of its TLS. */
bool tc_egress_side_push(struct tc_egress_side *to);
bool tc_egress_side_flush(struct tc_egress_side *to);
/* Ends the output. */
void tc_egress_side_shut(struct tc_egress_side *side);
/* Is a TLS handshake in progress? */
bool tc_egress_wrapping(const struct tc_egress_side *side);

/* pump.c: readable or writable. */
void tc_egress_client_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events);
void tc_egress_server_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events);

/* side.c: sends to the server, and counts. False: the flow is closed. */
bool tc_egress_flow_send(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len);
/* Sends to the client, with secrets masked; a possible beginning of a secret is kept. False: the
 * connection is broken. */
bool tc_egress_flow_tell(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len);
/* Sends what was kept: no more follows. */
bool tc_egress_flow_tell_rest(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The server no longer reads. It may have answered a request early: its response is still read. */
bool tc_egress_flow_deaf(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The call's `transfer` is used up. Returns false. */
bool tc_egress_flow_spent(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* handshake.c: `in` has more of the client's handshake. */
void tc_egress_handshake(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* `in` has more of another request in proxy form. */
void tc_egress_handshake_again(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* A connection to its destination's address. With `too_many`, it is refused. */
void tc_egress_handshake_direct(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool too_many);

/* exchange.c: the server's bytes after a request. False: the flow is closed. */
bool tc_egress_exchange(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                        size_t len);
/* The server ended: sends the client what is kept. False: the flow is closed. */
bool tc_egress_exchange_end(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Were a request and its response relayed completely? */
bool tc_egress_exchange_over(const struct tc_egress_flow *f);
/* Then: waits for the next request, or ends the flow. False: the flow is no longer joined. */
bool tc_egress_exchange_next(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* `in` has more of the next request. False: the flow is closed. */
bool tc_egress_exchange_take(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* connect.c: connects to `to`. */
void tc_egress_connect(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Sends the prepared request over the open connection if it leads to `to`, else connects. False:
 * the flow is closed. */
bool tc_egress_reach(struct tc_egress_proxy *p, struct tc_egress_flow *f);
void tc_egress_connect_ready(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The time for one attempt is over. */
void tc_egress_connect_late(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* publish.c: the published ports of a live session. The client is outside, the server is inside.
 * A new connection to the port with this index; its attempt to connect has succeeded or failed. */
void tc_egress_publish(struct tc_egress_proxy *p, struct tc_egress_flow *f, size_t index);
void tc_egress_publish_ready(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* inspect.c: `in` has the first bytes for the server. False: the flow is closed. */
bool tc_egress_inspect(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Called at the client's end of file. */
bool tc_egress_inspect_end(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Sends the prepared request to the server. */
bool tc_egress_forward(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Prepares a request: the new head in `head`, the bytes after the old one in `in`. False: out of
 * memory. */
bool tc_egress_take_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                            const struct tc_egress_http_head *head);

/* wrap.c: inspected TLS. wrap_client: `in` has the client's first message. wrap_server: a request
 * is ready for its server. False: the flow is closed. */
bool tc_egress_wrap_client(struct tc_egress_proxy *p, struct tc_egress_flow *f);
bool tc_egress_wrap_server(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Continues the handshake. */
bool tc_egress_wrap_go_on(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                          struct tc_egress_side *side);

/* question.c: `in` has more of a DNS query over TCP. */
void tc_egress_question(struct tc_egress_proxy *p, struct tc_egress_flow *f);

#endif
