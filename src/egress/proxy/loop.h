/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy's one thread: descriptors that it watches, and when it looks up without them. */
#ifndef TC_EGRESS_PROXY_LOOP_H
#define TC_EGRESS_PROXY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/read/dns.h"
#include "egress/read/names.h"

struct tc_egress_proxy;
struct tc_egress_authority;

/* Of the grant's `transfer` and `bandwidth`. */
struct tc_egress_meter {
    int64_t taken;      /* bytes of `transfer` */
    int64_t bucket;     /* bytes of `bandwidth` that may be read now */
    int64_t filled_at;  /* microseconds */
    int64_t rest_until; /* nothing is read until then; 0: it is */
};

struct tc_egress_watch {
    int fd; /* -1: none */
    uint32_t events;
    bool added;
    void (*ready)(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events);
};

enum { TC_EGRESS_SCRATCH = 65536 };

struct tc_egress_proxy {
    struct tc_egress_config config;
    struct tc_egress_stats *stats;
    struct tc_egress_names names;
    struct tc_egress_resolver *resolver;
    const struct tc_egress_authority *authority; /* NULL: nothing is looked into */
    struct tc_egress_watch control;
    struct tc_egress_listener *listeners;
    struct tc_egress_flow *flows, *dead; /* dead ones go when no event can name them any more */
    size_t flow_count, flow_max;         /* most of flows and pairs together */
    struct tc_egress_pair *pairs, *ended_pairs; /* datagrams.h */
    size_t pair_count;
    int64_t datagrams_at; /* their next tick; 0: there are none */
    struct tc_egress_meter meter;
    int standalone; /* enum tc_egress_form: without a supervisor */
    int epoll;
    int64_t now;       /* of this round, microseconds */
    int64_t wake;      /* some flow's deadline may be then */
    int64_t listen_at; /* listeners rest until then, because descriptors have run out; 0: no */
    int64_t finish_at; /* everything ends then; 0: the tool runs */
    bool over;
    char scratch[TC_EGRESS_SCRATCH]; /* for bytes on their way, within one call */
};

/* Watches the descriptor for these events; 0 takes it out, because the end of a connection
 * would be told again and again. False: it cannot be watched. */
bool tc_egress_watch_for(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events);
/* Stays in without an event but the connection's end. */
bool tc_egress_watch_end(struct tc_egress_proxy *p, struct tc_egress_watch *watch);
/* Takes it out and closes it. */
void tc_egress_watch_close(struct tc_egress_proxy *p, struct tc_egress_watch *watch);

/* Until the control socket is closed, or what the tool sent before its end is delivered. */
void tc_egress_run(struct tc_egress_proxy *p);

/* How much goes through the proxy, and how fast. Both count both directions of all connections
 * together. */

/* May so many bytes go on, to or from a destination? They are counted when they may. False: the
 * call has had its share, now and from here on. */
bool tc_egress_meter_take(struct tc_egress_proxy *p, size_t len);
/* The same for a connection that is about to be made: is anything left? */
bool tc_egress_meter_left(const struct tc_egress_proxy *p);

/* How many of `size` bytes may be read from a connection now; 0: none, until the tick. */
size_t tc_egress_meter_room(struct tc_egress_proxy *p, size_t size);
/* May a datagram of that size go now? It is counted when it may; else it is lost. */
bool tc_egress_meter_datagram(struct tc_egress_proxy *p, size_t len);
/* So many were read. Where that was the last for now, each flow rests once it is looked at. */
void tc_egress_meter_read(struct tc_egress_proxy *p, size_t len);
/* Wakes them. */
void tc_egress_meter_tick(struct tc_egress_proxy *p);

/* The listening sockets inside the cage, and what arrives there. */

/* Takes the descriptor. False: it is not what the role wants, or cannot be watched. */
/* Takes what has come already, and closes them. */
void tc_egress_listeners_end(struct tc_egress_proxy *p);
bool tc_egress_listen(struct tc_egress_proxy *p, int fd, enum tc_egress_role role);
/* Those that rested listen again. */
void tc_egress_listeners_tick(struct tc_egress_proxy *p);

/* question.c: the answer to one question; 0: none is due. */
size_t tc_egress_answer(struct tc_egress_proxy *p, const unsigned char *bytes, size_t len,
                        unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX]);

/* The proxy without a supervisor: it ends when it is told to by a signal, and says itself what it
 * refuses. */
enum tc_egress_form { TC_EGRESS_TEXT = 1, TC_EGRESS_JSON };

/* TERM and INT end it, before the walls are up. False: no descriptor for them. */
bool tc_egress_standalone_begin(struct tc_egress_proxy *p);
/* Whoever starts it as root does not want it to be. False: it cannot become nobody. */
bool tc_egress_standalone_become(void);
/* Says what was refused since the last time, and forgets it. */
void tc_egress_standalone_report(struct tc_egress_proxy *p);
/* Says why it cannot start, and returns its exit code. */
int tc_egress_standalone_fail(const char *what, const char *hint);

/* UDP that the grant names. Nothing in a datagram says for which host it is, so what holds is the
 * address: each pair of who sent it and where it was meant to go has a socket of its own outside,
 * connected to an address that was judged, and hears nobody else by it. */

/* A listener has some. */
void tc_egress_datagrams_ready(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                               uint32_t events);
/* Ends pairs that have been silent; when it wants to be called again: p->datagrams_at. */
void tc_egress_datagrams_tick(struct tc_egress_proxy *p);
/* The tool has ended, and its listeners are closed: is everything it sent on its way? */
bool tc_egress_datagrams_sent(const struct tc_egress_proxy *p);

#endif
