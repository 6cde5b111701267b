/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where names of the grant lead: the machine's own resolver configuration, read by c-ares. Nothing
 * else of the project uses that library. Asked only for a connection that the grant covers. */
#ifndef TC_EGRESS_PROXY_RESOLVE_H
#define TC_EGRESS_PROXY_RESOLVE_H

#include "egress/proxy/loop.h"
#include "egress/read/names.h"

enum { TC_EGRESS_ADDRESSES_MAX = 16 };

enum tc_egress_resolved {
    TC_EGRESS_RESOLVED,
    TC_EGRESS_RESOLVED_NOWHERE,   /* no address, or no answer; or too much is asked already */
    TC_EGRESS_RESOLVED_FORBIDDEN, /* an address among them that the name may not lead to */
};

struct tc_egress_query {
    char host[TC_EGRESS_HOST_SIZE];
    uint32_t port; /* with its transport */
    bool any;      /* wherever it leads: the operator named it, and the cage cannot */
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX];
    size_t count;
    void (*done)(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                 enum tc_egress_resolved how); /* NULL: nobody waits any more */
    void *ctx;
    struct tc_egress_query *next; /* of those that wait for the same name */
};

/* False: this machine's configuration cannot be read. */
bool tc_egress_resolver_open(struct tc_egress_proxy *p);
/* Starts the query, which it takes; `done` may be called before this returns, and the query is gone
 * after that. */
void tc_egress_resolve(struct tc_egress_proxy *p, struct tc_egress_query *query);
/* Nobody waits for it any more: it is gone, and `done` is not called. */
void tc_egress_resolve_end(struct tc_egress_proxy *p, struct tc_egress_query *query);
/* When it wants its tick; 0: it has nothing to do. */
int64_t tc_egress_resolver_until(const struct tc_egress_resolver *resolver, int64_t now);
void tc_egress_resolver_tick(struct tc_egress_resolver *resolver);

#endif
