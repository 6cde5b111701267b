/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The names that synthetic addresses stand for in this cage: those of the grant, and those that a
 * "*" covers, numbered as they are asked for. */
#ifndef TC_EGRESS_READ_NAMES_H
#define TC_EGRESS_READ_NAMES_H

#include "egress/egress.h"
#include "egress/gateway/synthetic.h"
#include "egress/read/host.h"
#include "linux/meant.h"

struct tc_egress_names {
    char **names; /* number TC_SYNTHETIC_FIRST and on */
    size_t count;
    uint32_t *slots; /* by hash; 0: free */
    size_t slot_count;
    const struct tc_egress_config *config; /* borrowed */
};

/* False: out of memory. */
bool tc_egress_names_open(struct tc_egress_names *names, const struct tc_egress_config *config);
void tc_egress_names_done(struct tc_egress_names *names);

/* The number of a name, a new one where "*" covers it; 0: it is not covered, or numbers are used
 * up. */
uint32_t tc_egress_names_number(struct tc_egress_names *names, const char *name);
/* The name of a number, or NULL; borrows. */
const char *tc_egress_names_name(const struct tc_egress_names *names, uint32_t number);

/* Addresses as the kernel has them, to and from the form that the grant has. */

/* False: the text is no address. */
bool tc_egress_address_read(const char *text, uint32_t port, union tc_inet *ret);
/* Where the cage meant to go: the name that the address stands for, or the address itself; IPv4 in
 * the form of IPv6 is IPv4. False: there is no port, or it is no host. */
bool tc_egress_address_meant(const struct tc_egress_names *names, const union tc_inet *address,
                             struct tc_egress_host *ret);
/* The same of a host that a client spoke of. */
void tc_egress_name_meant(const struct tc_egress_names *names, struct tc_egress_host *host);

#endif
