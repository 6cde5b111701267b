/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Synthetic addresses: each identifies a host name inside a cage. A program without proxy support
 * looks a name up, gets a synthetic address and connects to it; from the address the proxy knows
 * the name. The addresses are from the ranges reserved for benchmarks, which are otherwise unused:
 * 198.18.0.0/15 and 2001:2::/48. Number 1 is the cage's own address. The grant's names have the
 * numbers from 2 on, in the order of its entries and each name once. Names that a "*" covers get
 * the next numbers when they are first looked up. */
#ifndef TC_EGRESS_GATEWAY_SYNTHETIC_H
#define TC_EGRESS_GATEWAY_SYNTHETIC_H

#include <netinet/in.h>

#include "policy/grant.h"

enum { TC_SYNTHETIC_OWN = 1, TC_SYNTHETIC_FIRST = 2, TC_SYNTHETIC_MAX = 1 << 16 };

/* number: 1 to TC_SYNTHETIC_MAX - 1 */
struct in_addr tc_synthetic_v4(uint32_t number);
struct in6_addr tc_synthetic_v6(uint32_t number);
/* The number of an address; 0: the address is not synthetic. */
uint32_t tc_synthetic_of_v4(struct in_addr address);
uint32_t tc_synthetic_of_v6(const struct in6_addr *address);

/* The grant's name with this number; NULL: none in the grant. Borrows. */
const char *tc_synthetic_name(const struct tc_net_entry *net, size_t count, uint32_t number);
/* The number of a name of the grant; 0: not in the grant. */
uint32_t tc_synthetic_number(const struct tc_net_entry *net, size_t count, const char *name);

#endif
