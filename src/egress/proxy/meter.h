/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How much goes through the proxy, and how fast: the grant's `transfer` and `bandwidth`. Both count
 * both directions of all connections together. */
#ifndef TC_EGRESS_PROXY_METER_H
#define TC_EGRESS_PROXY_METER_H

#include <stdbool.h>
#include <stddef.h>

struct tc_egress_proxy;

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

#endif
