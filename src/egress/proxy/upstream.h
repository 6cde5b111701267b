/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The site's own proxy, for one connection. */
#ifndef TC_EGRESS_PROXY_UPSTREAM_H
#define TC_EGRESS_PROXY_UPSTREAM_H

#include "egress/proxy/resolve.h"

struct tc_egress_flow;

struct tc_egress_way {
    union tc_inet addresses[TC_EGRESS_ADDRESSES_MAX]; /* of the upstream */
    size_t count, next;
    const union tc_inet *to;    /* what it is asked for; NULL: the name */
    bool taken;                 /* the connection being made goes to the upstream */
    bool asked, agreed, proved; /* SOCKS: on how to go on; and that it may */
    unsigned char in[32];       /* its answer begins so; more is not looked at */
    size_t seen;                /* bytes of the answer */
    char last[4];
    char why[64]; /* it said no */
};

enum tc_egress_answer { TC_ANSWER_MORE, TC_ANSWER_YES, TC_ANSWER_NO };

/* The connection to it is up. False: it broke. */
bool tc_egress_upstream_ask(const struct tc_egress_proxy *p, struct tc_egress_flow *f);
/* There may be more of its answer; TC_ANSWER_NO: way->why says why. */
enum tc_egress_answer tc_egress_upstream_read(const struct tc_egress_proxy *p,
                                              struct tc_egress_flow *f);

#endif
