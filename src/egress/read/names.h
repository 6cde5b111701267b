/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The names behind a cage's synthetic addresses: the grant's names, and names that a "*" covers,
 * which get a number when they are first looked up. */
#ifndef TC_EGRESS_READ_NAMES_H
#define TC_EGRESS_READ_NAMES_H

#include "egress/egress.h"
#include "egress/gateway/synthetic.h"
#include "egress/read/host.h"
#include "linux/meant.h"

struct tc_egress_names {
    char **names; /* from number TC_SYNTHETIC_FIRST on */
    size_t count;
    uint32_t *slots; /* hash table of numbers; 0: free */
    size_t slot_count;
    const struct tc_egress_config *config; /* borrowed */
};

/* False: out of memory. */
bool tc_egress_names_open(struct tc_egress_names *names, const struct tc_egress_config *config);
void tc_egress_names_done(struct tc_egress_names *names);

/* The number of a name, a new one where "*" covers the name; 0: not covered, or no numbers left. */
uint32_t tc_egress_names_number(struct tc_egress_names *names, const char *name);
/* The name with this number, or NULL; borrows. */
const char *tc_egress_names_name(const struct tc_egress_names *names, uint32_t number);

/* Converts between socket addresses and the grant's form. */

/* False: not an address. */
bool tc_egress_address_read(const char *text, uint32_t port, union tc_inet *ret);
/* Writes the address without the port, and returns the text. */
const char *tc_egress_address_text(const union tc_inet *address, char out[TC_EGRESS_ADDRESS_MAX]);
/* The destination that a client meant: the name behind a synthetic address, or the address itself;
 * IPv4-mapped IPv6 counts as IPv4. False: no port, or not a host. */
bool tc_egress_address_meant(const struct tc_egress_names *names, const union tc_inet *address,
                             struct tc_egress_host *ret);
/* Replaces a synthetic address in `host` by its name. */
void tc_egress_name_meant(const struct tc_egress_names *names, struct tc_egress_host *host);

#endif
