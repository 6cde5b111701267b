/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The gateway in the wall of a cage with an allowlist: what stands in the cage's own network
 * namespace so that the tool finds the proxy. Pure: the library writes the tool's environment by
 * it, the helper the sockets and routes. */
#ifndef TC_EGRESS_GATEWAY_GATEWAY_H
#define TC_EGRESS_GATEWAY_GATEWAY_H

#include <netinet/in.h>

#include "base/buf.h"
#include "base/strv.h"
#include "egress/egress.h"

/* One listening socket. */
struct tc_gateway_listener {
    enum tc_egress_role role;
    int type; /* SOCK_STREAM, SOCK_DGRAM */
    /* Of IPv6 where it has a family: :: for both families, or ::1 for itself. Where the cage has no
     * IPv6, and for the others, v4 counts. */
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    bool both;
};

/* Netlink requests for the cage's namespace, in this order: addresses and routes, each of which is
 * to be acknowledged; and where any port is granted, packet filters, each a batch. Those of IPv6
 * may fail, on a machine that has switched it off. */
enum {
    TC_GATEWAY_V4,
    TC_GATEWAY_V6,
    TC_GATEWAY_FILTER_V4,
    TC_GATEWAY_FILTER_V6,
    TC_GATEWAY_REQUESTS
};

struct tc_gateway {
    struct tc_gateway_listener *listeners;
    size_t listener_count;
    struct tc_buf requests[TC_GATEWAY_REQUESTS];
};

/* Everything for these entries; 0, or -1 when out of memory. */
int tc_gateway_make(const struct tc_net_entry *net, size_t count, bool ipv6,
                    struct tc_gateway *ret);
void tc_gateway_done(struct tc_gateway *gateway);

/* Where the tool speaks to the proxy, at the cage's own address; no port that is granted. */
unsigned tc_gateway_port(const struct tc_net_entry *net, size_t count);
/* Does a connection to this address of the cage's network have a way? Else the host that was meant,
 * for people: the name that the address stands for, or the address itself. */
bool tc_gateway_leads(const struct tc_net_entry *net, size_t count, const struct sockaddr *to,
                      char *host, size_t size);
/* The variables that programs look for, but for those that are set; false: out of memory. */
bool tc_gateway_environment(const struct tc_net_entry *net, size_t count, struct tc_strv *env);
/* The same for those by which programs find whom to trust, where TLS is looked into. */
bool tc_gateway_trust(const struct tc_net_entry *net, size_t count, struct tc_strv *env);

/* Where a host is granted with any port no socket can listen on all of them: a packet filter of the
 * cage's own namespace brings each connection to one. Written as nf_tables reads it, because a
 * program for it would cost more than the rest of the cage. */

/* Adds the batch that brings connections of AF_INET or AF_INET6 that leave the cage's own loopback
 * and its proxy aside to this port of the loopback. Its last request alone is acknowledged. */
void tc_redirect_make(struct tc_buf *out, int family, unsigned port);

#endif
