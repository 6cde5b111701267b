/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Addresses that stand for host names inside a cage. A program that knows no proxy asks for a name,
 * is answered with one of these, connects to it, and the proxy knows from the address which name
 * was meant. They come from the ranges that are reserved for benchmarks, which nothing else uses:
 * 198.18.0.0/15 and 2001:2::/48. Number 1 is the cage's own address; the names of the grant follow
 * from 2 on in the order of its entries, each name once; after them come names that a "*" covers,
 * as they are asked for. */
#ifndef TC_EGRESS_GATEWAY_SYNTHETIC_H
#define TC_EGRESS_GATEWAY_SYNTHETIC_H

#include <netinet/in.h>

#include "policy/grant.h"

enum { TC_SYNTHETIC_OWN = 1, TC_SYNTHETIC_FIRST = 2, TC_SYNTHETIC_MAX = 1 << 16 };

/* number: 1 to TC_SYNTHETIC_MAX - 1 */
struct in_addr tc_synthetic_v4(uint32_t number);
struct in6_addr tc_synthetic_v6(uint32_t number);
/* The number of an address; 0: it is none of these. */
uint32_t tc_synthetic_of_v4(struct in_addr address);
uint32_t tc_synthetic_of_v6(const struct in6_addr *address);

/* The name of the grant that a number stands for; NULL: none (of the grant). Borrows. */
const char *tc_synthetic_name(const struct tc_net_entry *net, size_t count, uint32_t number);
/* The other way round; 0: the grant does not have that name. */
uint32_t tc_synthetic_number(const struct tc_net_entry *net, size_t count, const char *name);

#endif
