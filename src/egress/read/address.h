/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Addresses as the kernel has them, to and from the form that the grant has. */
#ifndef TC_EGRESS_READ_ADDRESS_H
#define TC_EGRESS_READ_ADDRESS_H

#include "egress/read/host.h"
#include "egress/read/names.h"
#include "linux/meant.h"

/* False: the text is no address. */
bool tc_egress_address_read(const char *text, uint32_t port, union tc_inet *ret);
/* Where the cage meant to go: the name that the address stands for, or the address itself; IPv4 in
 * the form of IPv6 is IPv4. False: there is no port, or it is no host. */
bool tc_egress_address_meant(const struct tc_egress_names *names, const union tc_inet *address,
                             struct tc_egress_host *ret);
/* The same of a host that a client spoke of. */
void tc_egress_name_meant(const struct tc_egress_names *names, struct tc_egress_host *host);

#endif
