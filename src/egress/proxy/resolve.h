/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Resolves names of the grant with c-ares and the host's resolver configuration. Only this module
 * uses c-ares. Only names of allowed connections are looked up. */
#ifndef TC_EGRESS_PROXY_RESOLVE_H
#define TC_EGRESS_PROXY_RESOLVE_H

#include "egress/proxy/loop.h"
#include "egress/read/names.h"

enum { TC_EGRESS_ADDRESSES_MAX = 16 };

enum tc_egress_resolved {
    TC_EGRESS_RESOLVED,
    TC_EGRESS_RESOLVED_NOWHERE,   /* no address or no reply, or too many pending lookups */
    TC_EGRESS_RESOLVED_FORBIDDEN, /* one of the addresses is not allowed for the name */
};

struct tc_egress_query {
    char host[TC_EGRESS_HOST_SIZE];
    uint32_t port; /* with its transport bits */
    bool any; /* allow every address: the operator named the host, and the cage cannot choose it */
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX];
    size_t count;
    union tc_inet forbidden; /* with FORBIDDEN: that address */
    void (*done)(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                 enum tc_egress_resolved how); /* NULL: cancelled */
    void *ctx;
    struct tc_egress_query *next; /* queries for the same name */
};

/* False: the host's resolver configuration cannot be read. */
bool tc_egress_resolver_open(struct tc_egress_proxy *p);
/* Starts the query and takes ownership. `done` may be called before this returns; the query is
 * freed after `done`. */
void tc_egress_resolve(struct tc_egress_proxy *p, struct tc_egress_query *query);
/* Cancels the query: `done` is not called. */
void tc_egress_resolve_end(struct tc_egress_proxy *p, struct tc_egress_query *query);
/* When the next tick is due; 0: none. */
int64_t tc_egress_resolver_until(const struct tc_egress_resolver *resolver, int64_t now);
void tc_egress_resolver_tick(struct tc_egress_resolver *resolver);

#endif
