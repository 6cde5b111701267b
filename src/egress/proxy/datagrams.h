/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * UDP that the grant names. Nothing in a datagram says for which host it is, so what holds is the
 * address: each pair of who sent it and where it was meant to go has a socket of its own outside,
 * connected to an address that was judged, and hears nobody else by it. */
#ifndef TC_EGRESS_PROXY_DATAGRAMS_H
#define TC_EGRESS_PROXY_DATAGRAMS_H

#include "egress/proxy/loop.h"

/* A listener has some. */
void tc_egress_datagrams_ready(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                               uint32_t events);
/* Ends pairs that have been silent; when it wants to be called again: p->datagrams_at. */
void tc_egress_datagrams_tick(struct tc_egress_proxy *p);
/* The tool has ended, and its listeners are closed: is everything it sent on its way? */
bool tc_egress_datagrams_sent(const struct tc_egress_proxy *p);

#endif
