/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parses a DNS query of the cage, and writes the reply. Pure. No query is ever forwarded to another
 * server. */
#ifndef TC_EGRESS_READ_DNS_H
#define TC_EGRESS_READ_DNS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_EGRESS_DNS_NAME_SIZE = 256, TC_EGRESS_DNS_MESSAGE_MAX = 512, TC_EGRESS_DNS_TTL = 60 };

enum tc_egress_dns_type { TC_EGRESS_DNS_A = 1, TC_EGRESS_DNS_PTR = 12, TC_EGRESS_DNS_AAAA = 28 };

enum tc_egress_dns_code {
    TC_EGRESS_DNS_FINE = 0,
    TC_EGRESS_DNS_FORMAT = 1,
    TC_EGRESS_DNS_NO_NAME = 3,
    TC_EGRESS_DNS_NOT_DONE = 4,
    TC_EGRESS_DNS_REFUSED = 5,
};

struct tc_egress_dns_query {
    char name[TC_EGRESS_DNS_NAME_SIZE]; /* lower case, without the last dot; "" is the root */
    bool odd; /* the name has bytes that no host name has; each becomes "?" */
    bool edns;
    uint16_t type;
    unsigned char head[4];         /* id and flags, for the reply */
    const unsigned char *question; /* as received; NULL: invalid */
    size_t question_len;
};

enum tc_egress_dns_read { TC_EGRESS_DNS_DROP = -1, TC_EGRESS_DNS_ANSWER, TC_EGRESS_DNS_QUERY };

/* TC_EGRESS_DNS_ANSWER: reply with *ret_code and no record. */
enum tc_egress_dns_read tc_egress_dns_read(const unsigned char *bytes, size_t len,
                                           struct tc_egress_dns_query *ret,
                                           enum tc_egress_dns_code *ret_code);

struct tc_egress_dns_record {
    uint16_t type, len;
    unsigned char data[TC_EGRESS_DNS_NAME_SIZE + 2];
};

/* Makes a PTR record. */
void tc_egress_dns_pointer(const char *name, struct tc_egress_dns_record *ret);
/* Writes a reply with one record or none (NULL). Returns its length. */
size_t tc_egress_dns_write(const struct tc_egress_dns_query *query, enum tc_egress_dns_code code,
                           const struct tc_egress_dns_record *record,
                           unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX]);

/* The address in a name below in-addr.arpa or ip6.arpa: AF_INET, AF_INET6 or 0. */
int tc_egress_dns_reverse(const char *name, struct in_addr *ret_v4, struct in6_addr *ret_v6);
/* Is the name below in-addr.arpa or ip6.arpa? */
bool tc_egress_dns_is_reverse(const char *name);

#endif
