/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy's one thread: descriptors that it watches, and when it looks up without them. */
#ifndef TC_EGRESS_PROXY_LOOP_H
#define TC_EGRESS_PROXY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/read/names.h"

struct tc_egress_proxy;
struct tc_egress_authority;

/* meter.h */
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
    struct tc_egress_said *said;
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
    int alone; /* enum tc_egress_form: without a supervisor */
    int epoll;
    int64_t now;       /* of this round, microseconds */
    int64_t wake;      /* some flow's deadline may be then */
    int64_t listen_at; /* listeners rest until then, because descriptors have run out; 0: no */
    int64_t finish_at; /* everything ends then; 0: the tool runs */
    bool over;
    char scratch[TC_EGRESS_SCRATCH]; /* for bytes on their way, within one call */
};

/* watch.c: watches the descriptor for these events; 0 takes it out, because the end of a connection
 * would be told again and again. False: it cannot be watched. */
bool tc_egress_watch_for(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events);
/* Stays in without an event but the connection's end. */
bool tc_egress_watch_end(struct tc_egress_proxy *p, struct tc_egress_watch *watch);
/* Takes it out and closes it. */
void tc_egress_watch_close(struct tc_egress_proxy *p, struct tc_egress_watch *watch);

/* loop.c: until the control socket is closed, or what the tool sent before its end is delivered. */
void tc_egress_run(struct tc_egress_proxy *p);

#endif
