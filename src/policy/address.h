/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Classes of IP addresses, after IANA's special-purpose address registries. Used by the policy's
 * hints, by the entry "*" and by the egress proxy, which connects to no name that resolves to a
 * non-public address. An IPv6 address that embeds an IPv4 one has the class of the embedded
 * address, because a gateway or the kernel may route there. An embedding that no public service
 * uses is never public. */
#ifndef TC_POLICY_ADDRESS_H
#define TC_POLICY_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

enum tc_address_class {
    TC_ADDRESS_PUBLIC,
    TC_ADDRESS_LOOPBACK,
    TC_ADDRESS_PRIVATE, /* a private network, including carrier-grade NAT */
    TC_ADDRESS_LINK_LOCAL,
    TC_ADDRESS_METADATA, /* a metadata service, which gives a VM's credentials to any client */
    TC_ADDRESS_MULTICAST,
    TC_ADDRESS_DOCUMENTATION,
    TC_ADDRESS_RESERVED, /* unassigned, broadcast, or an obsolete transition range */
};

enum tc_address_class tc_address_class_v4(struct in_addr address);
enum tc_address_class tc_address_class_v6(const struct in6_addr *address);

/* The class of an address in the text form of inet_pton. False: not an address. */
bool tc_address_class_of(const char *text, enum tc_address_class *ret);

#endif
