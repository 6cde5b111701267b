/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One connection of the cage, and the one outside that belongs to it. */
#ifndef TC_EGRESS_PROXY_FLOW_H
#define TC_EGRESS_PROXY_FLOW_H

#include "egress/proxy/loop.h"
#include "egress/proxy/resolve.h"
#include "egress/proxy/tls.h"
#include "egress/proxy/upstream.h"
#include "egress/read/http.h"

enum tc_egress_stage {
    TC_FLOW_GREET,    /* what does the client want? */
    TC_FLOW_QUESTION, /* it asks for names, by TCP */
    TC_FLOW_SEEK,     /* looking up, connecting; the client is not read */
    TC_FLOW_JOINED,   /* bytes go both ways */
    TC_FLOW_ENDING,   /* the client is told the rest, and what it sends is dropped */
    TC_FLOW_DEAD,
};

/* What the client expects to hear now. */
enum tc_egress_speaks { TC_SPEAKS_BYTES, TC_SPEAKS_SOCKS, TC_SPEAKS_CONNECT, TC_SPEAKS_HTTP };

/* How the client's bytes go on. */
enum tc_egress_mode {
    TC_MODE_UNDECIDED, /* held in `in` until it is clear what they are */
    TC_MODE_STREAM,
    TC_MODE_REQUEST,   /* to the end of the body, and nothing behind it */
    TC_MODE_WEBSOCKET, /* held by the kernel until the server says 101 */
};

struct tc_egress_side {
    struct tc_egress_watch watch;
    char *pending; /* what the other side has not taken yet */
    size_t at, len;
    struct tc_egress_tls *tls; /* ended here; NULL: the bytes of the socket are what is said */
    bool eof;                  /* nothing more comes */
    bool shut;                 /* nothing more goes */
    bool cut;                  /* what it was told broke off: nobody says that it ended in order */
};

struct tc_egress_flow {
    struct tc_egress_side client, server;
    struct tc_egress_flow *prev, *next;
    enum tc_egress_role role;
    enum tc_egress_stage stage;
    enum tc_egress_speaks speaks;
    enum tc_egress_mode mode;
    bool greeted; /* SOCKS: methods are agreed on */
    bool literal; /* `to` is an address */
    bool masks;   /* what the server says, because it may get secrets */
    bool bound;   /* to requests: nothing of the server is heard before one was allowed */
    struct tc_egress_host to;
    struct tc_buf in;   /* the client's bytes that nobody has taken yet */
    struct tc_buf head; /* of a request in proxy form, for the server */
    struct tc_buf tail; /* the server's last bytes, which may be the beginning of a secret */
    struct tc_egress_http_rest rest;
    struct tc_egress_query *query;
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX];
    size_t address_count, address_next;
    struct tc_egress_way *way; /* by the upstream; NULL: there is none */
    struct tc_egress_destination *destination;
    int64_t deadline;
    int64_t connect_until;
};

enum {
    TC_EGRESS_HEAD_US = 10000000, /* for a head, or the first bytes */
    TC_EGRESS_SEEK_US = 10000000, /* for a connection outside */
    TC_EGRESS_END_US = 2000000,   /* for the client to take what it is told */
    TC_EGRESS_IDLE_US = 600000000,
};

void tc_egress_flow_deadline(struct tc_egress_proxy *p, struct tc_egress_flow *f, int64_t us);
/* Both connections end; with `reset` the client sees that it was not in order. */
void tc_egress_flow_close(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool reset);
/* Writes the denial down where it is one, tells the client in its own words, and ends. `what`: as
 * in refusal.h. */
void tc_egress_flow_refuse(struct tc_egress_proxy *p, struct tc_egress_flow *f, int what,
                           const char *why);
/* The client gets what is pending, and no more. */
void tc_egress_flow_end(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Brings what is watched up to date; after whatever changed the flow. */
void tc_egress_flow_watch(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* May the client hear the server? Not before one that it trusts by TLS has proved who it is. */
bool tc_egress_hears(const struct tc_egress_flow *f);
/* Whether the kernel is to end the connection out of order when it is closed. */
void tc_egress_set_reset(int fd, bool reset);
/* All of them. */
struct tc_egress_flow *tc_egress_flow_new(struct tc_egress_proxy *p, int fd,
                                          enum tc_egress_role role);
/* Ends those whose time is over, and frees the dead. */
void tc_egress_flows_tick(struct tc_egress_proxy *p);
/* The end: what clients have sent whole the kernel may deliver. */
void tc_egress_flows_leave(struct tc_egress_proxy *p);
/* Has the kernel all that clients have sent? */
bool tc_egress_flows_sent(const struct tc_egress_proxy *p);

/* side.c: sends, or keeps what is not taken; false: the connection is broken. */
bool tc_egress_side_send(struct tc_egress_proxy *p, struct tc_egress_side *to, const char *bytes,
                         size_t len);
/* The same with what its TLS has for the wire. */
bool tc_egress_side_push(struct tc_egress_side *to);
bool tc_egress_side_flush(struct tc_egress_side *to);
/* Nothing more goes to it. */
void tc_egress_side_shut(struct tc_egress_side *side);
/* Is a handshake under way? */
bool tc_egress_wrapping(const struct tc_egress_side *side);

/* pump.c: there is something to read, or room to write. */
void tc_egress_client_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events);
void tc_egress_server_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events);

/* send.c: to the server, counted. False: the flow is closed. */
bool tc_egress_flow_send(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len);
/* The server takes no more. Of a request it may have answered it: that is read yet. */
bool tc_egress_flow_deaf(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The call has had its share; false. */
bool tc_egress_flow_spent(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* handshake.c: more of the client's first words is in `in`. */
void tc_egress_handshake(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* A connection that arrived where it was meant to go; one that is too many is told apart. */
void tc_egress_handshake_direct(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool too_many);

/* connect.c: connects to where `to` leads. */
void tc_egress_connect(struct tc_egress_proxy *p, struct tc_egress_flow *f);
void tc_egress_connect_ready(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The time of one attempt is over. */
void tc_egress_connect_late(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* inspect.c: what the client begins to say to the server is in `in`. False: the flow is closed. */
bool tc_egress_inspect(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* The same when no more comes. */
bool tc_egress_inspect_end(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* A request that was held back for its server goes there. */
bool tc_egress_forward(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Prepares it: its head into `head`, what is behind it stays in `in`. False: out of memory. */
bool tc_egress_take_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                            const struct tc_egress_http_head *head);

/* wrap.c: TLS that is looked into. The client's first message is in `in`; a request waits for its
 * server. False: the flow is closed. */
bool tc_egress_wrap_client(struct tc_egress_proxy *p, struct tc_egress_flow *f);
bool tc_egress_wrap_server(struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* More of the handshake is there. */
bool tc_egress_wrap_go_on(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                          struct tc_egress_side *side);

/* question.c: more of a question by TCP is in `in`. */
void tc_egress_question(struct tc_egress_proxy *p, struct tc_egress_flow *f);

#endif
