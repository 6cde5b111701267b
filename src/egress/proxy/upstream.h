/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The upstream proxy, for one connection. */
#ifndef TC_EGRESS_PROXY_UPSTREAM_H
#define TC_EGRESS_PROXY_UPSTREAM_H

#include "egress/proxy/resolve.h"

struct tc_egress_flow;

struct tc_egress_way {
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX]; /* of the upstream */
    size_t count, next;
    const union tc_inet *to;    /* the requested address; NULL: the name */
    bool taken;                 /* the connection in progress is to the upstream proxy */
    bool asked, agreed, proved; /* request sent; SOCKS: method agreed on; authenticated */
    unsigned char in[32];       /* the first bytes of its response */
    size_t seen;                /* size of the response so far */
    char last[4];
    char why[64]; /* why it refused */
};

enum tc_egress_answer { TC_ANSWER_MORE, TC_ANSWER_YES, TC_ANSWER_NO };

/* Sends the request on the new connection. False: the connection broke. */
bool tc_egress_upstream_ask(const struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* Reads more of the response; after TC_ANSWER_NO, way->why has the reason. */
enum tc_egress_answer tc_egress_upstream_read(const struct tc_egress_proxy *p,
                                              struct tc_egress_flow *f);

#endif
