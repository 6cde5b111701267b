/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy's single-threaded event loop: its state, watched fds and ticks. */
#ifndef TC_EGRESS_PROXY_LOOP_H
#define TC_EGRESS_PROXY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/proxy/kept.h"
#include "egress/read/dns.h"
#include "egress/read/names.h"

struct tc_egress_proxy;
struct tc_egress_authority;

/* Accounts for the grant's `transfer` and `bandwidth`. */
struct tc_egress_meter {
    int64_t taken;      /* bytes used of `transfer` */
    int64_t bucket;     /* bytes of `bandwidth` that may be read now */
    int64_t filled_at;  /* microseconds */
    int64_t rest_until; /* reading is paused until then; 0: not paused */
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
    const struct tc_egress_authority *authority; /* NULL: no TLS is inspected */
    struct tc_egress_watch control;
    struct tc_egress_watch sockets;        /* published ports: config.sockets */
    size_t published_count, published_max; /* flows of published ports; not in flow_count */
    size_t published_listeners;            /* received so far */
    bool published_rest; /* their connections are not accepted: there is the maximum of them */
    struct tc_egress_listener *listeners;
    struct tc_egress_flow *flows, *dead;        /* dead: freed once no event can refer to them */
    size_t flow_count, flow_max;                /* maximum of flows and UDP pairs together */
    struct tc_egress_pair *pairs, *ended_pairs; /* datagrams.c */
    size_t pair_count;
    int64_t datagrams_at; /* their next tick; 0: no pairs */
    struct tc_egress_meter meter;
    struct tc_egress_keeper keeper;
    int standalone; /* enum tc_egress_form: standalone; 0: supervised */
    int epoll;
    int64_t now;       /* at the last wakeup, microseconds */
    int64_t wake;      /* the earliest deadline of a flow is not before this time */
    int64_t listen_at; /* accepting is paused until then, because fds have run out; 0: not paused */
    int64_t finish_at; /* the proxy exits then; 0: the tool runs */
    bool over;
    char scratch[TC_EGRESS_SCRATCH]; /* I/O buffer, valid within one call */
};

/* Watches the fd for these events. 0 removes it, because epoll would report a closed connection
 * again and again. False: it cannot be watched. */
bool tc_egress_watch_for(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events);
/* Watches only for the end of the connection. */
bool tc_egress_watch_end(struct tc_egress_proxy *p, struct tc_egress_watch *watch);
/* Removes and closes it. */
void tc_egress_watch_close(struct tc_egress_proxy *p, struct tc_egress_watch *watch);

/* Runs until the control socket is closed, or the tool's data is delivered after FINISH. */
void tc_egress_run(struct tc_egress_proxy *p);

/* Limits of total bytes and bytes per second, over both directions of all connections. */

/* May this many bytes be relayed? If so, they are counted. False: `transfer` is used up for the
 * rest of the call. */
bool tc_egress_meter_take(struct tc_egress_proxy *p, size_t len);
/* Is any `transfer` left for a new connection? */
bool tc_egress_meter_left(const struct tc_egress_proxy *p);

/* How many of `size` bytes may be read from a connection now; 0: none until the tick. */
size_t tc_egress_meter_room(struct tc_egress_proxy *p, size_t size);
/* May a datagram of this size be relayed now? If so, it is counted; otherwise it is dropped. */
bool tc_egress_meter_datagram(struct tc_egress_proxy *p, size_t len);
/* Counts bytes that were read. If they use up the bucket, reading pauses for all flows. */
void tc_egress_meter_read(struct tc_egress_proxy *p, size_t len);
/* Resumes reading. */
void tc_egress_meter_tick(struct tc_egress_proxy *p);

/* Accepts pending connections, and closes the listeners. */
void tc_egress_listeners_end(struct tc_egress_proxy *p);
bool tc_egress_listen(struct tc_egress_proxy *p, int fd, enum tc_egress_role role);
/* Resumes accepting. */
void tc_egress_listeners_tick(struct tc_egress_proxy *p);

/* publish.c: waits for sockets of PID 1, if ports are published. False: that cannot be done. */
bool tc_egress_publish_open(struct tc_egress_proxy *p);

/* question.c: the reply to one DNS query; 0: no reply. */
size_t tc_egress_answer(struct tc_egress_proxy *p, const unsigned char *bytes, size_t len,
                        unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX]);

/* The standalone proxy: ended by a signal, reports its denials itself. */
enum tc_egress_form { TC_EGRESS_TEXT = 1, TC_EGRESS_JSON };

/* Lets TERM and INT end the proxy. Called before it confines itself. False: out of fds. */
bool tc_egress_standalone_begin(struct tc_egress_proxy *p);
/* Changes from root to uid 65534. False: not possible. */
bool tc_egress_standalone_become(void);
/* Prints the denials since the last call, and clears them. */
void tc_egress_standalone_report(struct tc_egress_proxy *p);
/* Prints why the proxy cannot start, and returns the exit code. */
int tc_egress_standalone_fail(const char *what, const char *hint);

/* UDP to endpoints of the grant (datagrams.c). */

/* A listener is readable. */
void tc_egress_datagrams_ready(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                               uint32_t events);
/* Ends idle pairs; sets p->datagrams_at to the next tick. */
void tc_egress_datagrams_tick(struct tc_egress_proxy *p);
/* After the tool's exit, with the listeners closed: have all its datagrams been sent? */
bool tc_egress_datagrams_sent(const struct tc_egress_proxy *p);

#endif
