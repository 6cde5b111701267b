/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The gateway of a cage with an allowlist: listeners, addresses and routes in the cage's network
 * namespace that lead the tool to the proxy. Pure: from it the library makes the tool's
 * environment, and the helper the sockets and routes. */
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
    /* IPv6, if it has a family: :: with `both` (both families), else ::1. v4 is used otherwise, and
     * where the cage has no IPv6. */
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    bool both;
};

/* Netlink requests for the cage's namespace, in this order: addresses and routes, each
 * acknowledged; then, where any port is granted, one batch of packet filter requests per family.
 * The IPv6 ones may fail on a host with IPv6 disabled. */
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

/* Builds all of it for these entries. Returns 0, or -1 when out of memory. */
int tc_gateway_make(const struct tc_net_entry *net, size_t count, bool ipv6,
                    struct tc_gateway *ret);
void tc_gateway_done(struct tc_gateway *gateway);

/* The port of the proxy at the cage's own address; never a granted port. */
unsigned tc_gateway_port(const struct tc_net_entry *net, size_t count);
/* Can a connection to this address of the cage's network be allowed? If not, `host` is for
 * messages: the name behind a synthetic address, or the address itself. */
bool tc_gateway_leads(const struct tc_net_entry *net, size_t count, const struct sockaddr *to,
                      char *host, size_t size);
/* What the grant has for a connection to an address of the loopback. */
enum tc_gateway_local {
    TC_GATEWAY_ELSEWHERE, /* nothing, or UDP: connect() does not tell which; or no loopback */
    TC_GATEWAY_GRANTED,
    TC_GATEWAY_OTHER, /* the same port of 127.0.0.1 instead of ::1, or the reverse */
};
enum tc_gateway_local tc_gateway_local(const struct tc_net_entry *net, size_t count,
                                       const struct sockaddr *to);
/* Adds the proxy variables that are not set yet. False: out of memory. */
bool tc_gateway_environment(const struct tc_net_entry *net, size_t count, struct tc_strv *env);
/* Adds the CA bundle variables that are not set yet, where TLS is inspected. False: out of memory.
 */
bool tc_gateway_trust(const struct tc_net_entry *net, size_t count, struct tc_strv *env);

/* Where a host is granted with any port, no socket can listen on all ports, so a packet filter in
 * the cage's namespace redirects each connection to one listener. The netlink messages are built
 * here, because running nft would take longer than creating the rest of the cage. */

/* Adds the batch that redirects connections of AF_INET or AF_INET6 to this loopback port, except
 * those to the loopback and to the proxy. Only the rule's request is acknowledged. */
void tc_redirect_make(struct tc_buf *out, int family, unsigned port);

#endif
