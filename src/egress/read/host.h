/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parses host names and authorities ("host:port") that clients send, and normalizes them like the
 * hosts of a grant. Makes no system call. */
#ifndef TC_EGRESS_READ_HOST_H
#define TC_EGRESS_READ_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_EGRESS_HOST_SIZE = 256 };

struct tc_egress_host {
    char name[TC_EGRESS_HOST_SIZE]; /* lower case; an address as inet_ntop writes it */
    uint16_t port;                  /* 0: not given */
};

/* A host alone, IPv6 without brackets. False: invalid or ambiguous. */
bool tc_egress_host_read(const char *text, size_t len, struct tc_egress_host *ret);
/* The same for a name that may end in a dot: names are absolute here. */
bool tc_egress_host_read_dotted(const char *text, size_t len, struct tc_egress_host *ret);
/* "host", "host:port", "[v6]:port"; no userinfo, no empty port. */
bool tc_egress_authority_read(const char *text, size_t len, struct tc_egress_host *ret);

#endif
