/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What kind of place an address is, by IANA's registries of special-purpose addresses. One list for
 * all who ask: the policy's hints, the rule of "*", and the proxy, which lets no name lead to a
 * place that is not public. An IPv6 address that carries an IPv4 one is judged by what is inside,
 * because a gateway or the kernel may go there; one that no public service has is never public. */
#ifndef TC_POLICY_ADDRESS_H
#define TC_POLICY_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

enum tc_address_class {
    TC_ADDRESS_PUBLIC,
    TC_ADDRESS_LOOPBACK,
    TC_ADDRESS_PRIVATE, /* of some network of one's own, a carrier's included */
    TC_ADDRESS_LINK_LOCAL,
    TC_ADDRESS_METADATA, /* gives the credentials of a machine to whoever asks */
    TC_ADDRESS_MULTICAST,
    TC_ADDRESS_DOCUMENTATION,
    TC_ADDRESS_RESERVED, /* nobody's, everybody's, or of a transition that is over */
};

enum tc_address_class tc_address_class_v4(struct in_addr address);
enum tc_address_class tc_address_class_v6(const struct in6_addr *address);

/* The same for the text of an address, as inet_pton reads it; false: it is none. */
bool tc_address_class_of(const char *text, enum tc_address_class *ret);

#endif
