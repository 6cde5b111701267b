/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/gateway/gateway.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "egress/egress.h"
#include "egress/gateway/synthetic.h"
#include "policy/endpoint.h"

enum { LOOPBACK = 1, DNS = 53, V4_BITS = 15, V6_BITS = 48, FIRST_PORT = 3128 };

static bool names_port(const struct tc_net_entry *net, size_t count, uint32_t port)
{
    for (size_t i = 0; i < count; i++)
        if (net[i].port == port)
            return true;
    return false;
}

static unsigned free_port(const struct tc_net_entry *net, size_t count, unsigned port)
{
    while (names_port(net, count, port))
        port++;
    return port;
}

unsigned tc_gateway_port(const struct tc_net_entry *net, size_t count)
{
    return free_port(net, count, FIRST_PORT);
}

/* For TCP or UDP: connect() does not tell which. */
static bool covers_port(const struct tc_net_entry *net, size_t count, unsigned port)
{
    for (size_t i = 0; i < count; i++)
        if (tc_port_covers(net[i].port, port) || net[i].port == (port | TC_PORT_UDP))
            return true;
    return false;
}

/* The number of a synthetic address, and the port; 0: the address is not synthetic. */
static uint32_t number_of(const struct sockaddr *to, unsigned *ret_port, char *host, size_t size)
{
    const struct sockaddr_in *v4 = (const void *)to;
    const struct sockaddr_in6 *v6 = (const void *)to;
    if (to->sa_family == AF_INET) {
        *ret_port = ntohs(v4->sin_port);
        (void)inet_ntop(AF_INET, &v4->sin_addr, host, (socklen_t)size);
        return tc_synthetic_of_v4(v4->sin_addr);
    }
    *ret_port = ntohs(v6->sin6_port);
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, (socklen_t)size);
    return tc_synthetic_of_v6(&v6->sin6_addr);
}

bool tc_gateway_leads(const struct tc_net_entry *net, size_t count, const struct sockaddr *to,
                      char *host, size_t size)
{
    unsigned port;
    uint32_t number = number_of(to, &port, host, size);
    const char *name = tc_synthetic_name(net, count, number);
    if (number == TC_SYNTHETIC_OWN && port == tc_gateway_port(net, count))
        return true;
    if (name)
        (void)snprintf(host, size, "%s", name);
    /* a name that "*" covers has a number that only the proxy knows */
    if (number > TC_SYNTHETIC_OWN && !name)
        return covers_port(net, count, port);
    return tc_endpoint_find(net, count, host, port) ||
           tc_endpoint_find(net, count, host, port | TC_PORT_UDP);
}

/* A client of localhost tries both. */
static const char *other_loopback(const char *host)
{
    return tc_streq(host, "127.0.0.1") ? "::1" : tc_streq(host, "::1") ? "127.0.0.1" : NULL;
}

enum tc_gateway_local tc_gateway_local(const struct tc_net_entry *net, size_t count,
                                       const struct sockaddr *to)
{
    unsigned port;
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in6 *v6 = (const void *)to;
    const struct sockaddr_in *v4 = (const void *)to;
    (void)number_of(to, &port, host, sizeof(host));
    bool local = to->sa_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
                                          : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    if (!local || tc_endpoint_find(net, count, host, port | TC_PORT_UDP))
        return TC_GATEWAY_ELSEWHERE;
    if (tc_endpoint_find(net, count, host, port))
        return TC_GATEWAY_GRANTED;
    const char *other = other_loopback(host);
    return other && tc_endpoint_find(net, count, other, port) ? TC_GATEWAY_OTHER
                                                              : TC_GATEWAY_ELSEWHERE;
}

static char *own_address(void)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr own = tc_synthetic_v4(TC_SYNTHETIC_OWN);
    return inet_ntop(AF_INET, &own, text, sizeof(text)) ? strdup(text) : NULL;
}

static bool set(struct tc_strv *env, const char *name, const char *value)
{
    return value && (tc_strv_value(env, name) || tc_strv_put(env, name, value));
}

/* Programs read one spelling or the other. ALL_PROXY is HTTP too: clients without SOCKS support
 * fail on a SOCKS URL, and every client with SOCKS support also supports CONNECT. */
bool tc_gateway_environment(const struct tc_net_entry *net, size_t count, struct tc_strv *env)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                        "http_proxy", "https_proxy", "all_proxy"};
    static const char *const direct = "localhost,127.0.0.1,::1"; /* servers inside the cage */
    _autofree_ char *own = own_address();
    _autofree_ char *url = own ? tc_format("http://%s:%u", own, tc_gateway_port(net, count)) : NULL;
    for (size_t i = 0; url && i < TC_COUNT(names); i++)
        if (!set(env, names[i], url))
            return false;
    return url && set(env, "NO_PROXY", direct) && set(env, "no_proxy", direct);
}

/* OpenSSL's variable (also read by Python, Ruby and Go), and those of programs with their own CA
 * list: Python's requests, Node, git, curl and others. */
bool tc_gateway_trust(const struct tc_net_entry *net, size_t count, struct tc_strv *env)
{
    static const char *const names[] = {
        "SSL_CERT_FILE",       "CURL_CA_BUNDLE",    "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS", "PIP_CERT",          "GIT_SSL_CAINFO",
        "AWS_CA_BUNDLE",       "CARGO_HTTP_CAINFO", "DENO_CERT"};
    bool inspects = false, fine = true;
    for (size_t i = 0; i < count; i++)
        inspects |= tc_net_entry_inspected(&net[i]);
    for (size_t i = 0; inspects && fine && i < TC_COUNT(names); i++)
        fine = set(env, names[i], TC_BUNDLE_OWN);
    return fine;
}

/* ---- listening sockets ---- */

static bool add_listener(struct tc_gateway *gateway, enum tc_egress_role role, int type,
                         unsigned port)
{
    bool both = role == TC_EGRESS_DIRECT || role == TC_EGRESS_DATAGRAMS;
    struct tc_gateway_listener *l = TC_PUSH(gateway->listeners, gateway->listener_count);
    if (!l)
        return false;
    *l = (struct tc_gateway_listener){
        .role = role,
        .type = type,
        .both = both,
        .v6 = {.sin6_family = both ? AF_INET6 : 0, .sin6_port = htons((uint16_t)port)},
        .v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
    if (role == TC_EGRESS_PROXY)
        l->v4.sin_addr = tc_synthetic_v4(TC_SYNTHETIC_OWN);
    else if (!both) /* the resolver's default server */
        l->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return true;
}

/* One listener per port for all hosts: a connection's destination address identifies the host. */
static bool add_port(struct tc_gateway *gateway, uint32_t port)
{
    unsigned number = port & TC_PORT_NUMBER;
    return port & TC_PORT_UDP ? add_listener(gateway, TC_EGRESS_DATAGRAMS, SOCK_DGRAM, number)
                              : add_listener(gateway, TC_EGRESS_DIRECT, SOCK_STREAM, number);
}

static bool add_ports(struct tc_gateway *gateway, const struct tc_net_entry *net, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (net[i].port != TC_PORT_ANY && !names_port(net, i, net[i].port) &&
            !add_port(gateway, net[i].port))
            return false;
    return true;
}

/* The listeners for connections to any port: one per family, because the kernel reports the
 * original destination of an IPv4 connection only on an IPv4 socket. */
static bool add_any(struct tc_gateway *gateway, unsigned port, bool ipv6)
{
    if (!add_listener(gateway, TC_EGRESS_REDIRECTED, SOCK_STREAM, port) ||
        (ipv6 && !add_listener(gateway, TC_EGRESS_REDIRECTED, SOCK_STREAM, port)))
        return false;
    tc_redirect_make(&gateway->requests[TC_GATEWAY_FILTER_V4], AF_INET, port);
    if (!ipv6)
        return true;
    struct tc_gateway_listener *l = &gateway->listeners[gateway->listener_count - 1];
    l->v6.sin6_family = AF_INET6;
    l->v6.sin6_addr = in6addr_loopback;
    l->v4.sin_port = 0; /* fallback without IPv6: port 0, a random port that no client uses */
    tc_redirect_make(&gateway->requests[TC_GATEWAY_FILTER_V6], AF_INET6, port);
    return true;
}

/* ---- addresses and routes ---- */

static void put_attribute(struct tc_buf *out, unsigned short type, const void *data, size_t len)
{
    struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = type};
    tc_buf_add(out, (const char *)&head, sizeof(head));
    tc_buf_add(out, data, len);
    static const char pad[RTA_ALIGNTO];
    tc_buf_add(out, pad, RTA_ALIGN(len) - len);
}

/* The length is known at the end of a request. */
static void put_request(struct tc_buf *to, unsigned short type, const void *body, size_t size,
                        const struct tc_buf *attributes)
{
    struct nlmsghdr head = {.nlmsg_len = (unsigned)(NLMSG_LENGTH(size) + attributes->len),
                            .nlmsg_type = type,
                            .nlmsg_flags =
                                NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE};
    tc_buf_add(to, (const char *)&head, sizeof(head));
    tc_buf_add(to, body, size);
    tc_buf_add(to, attributes->data, attributes->len);
    to->failed |= attributes->failed;
}

/* The address makes programs use IPv4 or IPv6: with only a loopback address they assume none. */
static void put_address(struct tc_buf *to, int family, const void *address, size_t len)
{
    struct ifaddrmsg body = {.ifa_family = (unsigned char)family,
                             .ifa_prefixlen = (unsigned char)(len * 8),
                             .ifa_flags = IFA_F_NODAD,
                             .ifa_scope = RT_SCOPE_UNIVERSE,
                             .ifa_index = LOOPBACK};
    _autobuf_ struct tc_buf attributes = TC_BUF_INIT;
    put_attribute(&attributes, IFA_LOCAL, address, len);
    put_attribute(&attributes, IFA_ADDRESS, address, len);
    put_request(to, RTM_NEWADDR, &body, sizeof(body), &attributes);
}

/* The whole range is local: connections to it arrive on this interface. */
static void put_route(struct tc_buf *to, int family, const void *address, size_t len, unsigned bits)
{
    struct rtmsg body = {.rtm_family = (unsigned char)family,
                         .rtm_dst_len = (unsigned char)bits,
                         .rtm_table = RT_TABLE_LOCAL,
                         .rtm_protocol = RTPROT_STATIC,
                         .rtm_scope = RT_SCOPE_HOST,
                         .rtm_type = RTN_LOCAL};
    uint32_t device = LOOPBACK;
    _autobuf_ struct tc_buf attributes = TC_BUF_INIT;
    if (bits)
        put_attribute(&attributes, RTA_DST, address, len);
    put_attribute(&attributes, RTA_OIF, &device, sizeof(device));
    put_request(to, RTM_NEWROUTE, &body, sizeof(body), &attributes);
}

static void put_own(struct tc_gateway *gateway)
{
    struct in_addr v4 = tc_synthetic_v4(TC_SYNTHETIC_OWN), range4 = tc_synthetic_v4(0);
    struct in6_addr v6 = tc_synthetic_v6(TC_SYNTHETIC_OWN), range6 = tc_synthetic_v6(0);
    put_address(&gateway->requests[TC_GATEWAY_V4], AF_INET, &v4, sizeof(v4));
    put_route(&gateway->requests[TC_GATEWAY_V4], AF_INET, &range4, sizeof(range4), V4_BITS);
    put_address(&gateway->requests[TC_GATEWAY_V6], AF_INET6, &v6, sizeof(v6));
    put_route(&gateway->requests[TC_GATEWAY_V6], AF_INET6, &range6, sizeof(range6), V6_BITS);
}

/* An address or a range in the grant; "*" matches any. Loopback is always routed. */
static void put_entry(struct tc_gateway *gateway, const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    char address[INET6_ADDRSTRLEN];
    size_t len = strcspn(host, "/");
    unsigned bits = host[len] ? (unsigned)strtoul(host + len + 1, NULL, 10) : 128;
    if (strcmp(host, "*") == 0) {
        put_route(&gateway->requests[TC_GATEWAY_V4], AF_INET, NULL, 0, 0);
        put_route(&gateway->requests[TC_GATEWAY_V6], AF_INET6, NULL, 0, 0);
    }
    if (len >= sizeof(address))
        return;
    memcpy(address, host, len);
    address[len] = '\0';
    if (inet_pton(AF_INET, address, &v4) == 1 && ntohl(v4.s_addr) >> 24 != 127)
        put_route(&gateway->requests[TC_GATEWAY_V4], AF_INET, &v4, sizeof(v4),
                  bits > 32 ? 32 : bits);
    else if (inet_pton(AF_INET6, address, &v6) == 1 && !IN6_IS_ADDR_LOOPBACK(&v6))
        put_route(&gateway->requests[TC_GATEWAY_V6], AF_INET6, &v6, sizeof(v6), bits);
}

static bool add_listeners(struct tc_gateway *gateway, const struct tc_net_entry *net, size_t count,
                          bool ipv6)
{
    unsigned own = tc_gateway_port(net, count);
    if (!add_listener(gateway, TC_EGRESS_PROXY, SOCK_STREAM, own) ||
        !add_listener(gateway, TC_EGRESS_DNS_UDP, SOCK_DGRAM, DNS) ||
        !add_ports(gateway, net, count))
        return false;
    /* a granted port 53 is for the grant's connections, not for DNS */
    if (!names_port(net, count, DNS) && !add_listener(gateway, TC_EGRESS_DNS_TCP, SOCK_STREAM, DNS))
        return false;
    return !names_port(net, count, TC_PORT_ANY) ||
           add_any(gateway, free_port(net, count, own + 1), ipv6);
}

int tc_gateway_make(const struct tc_net_entry *net, size_t count, bool ipv6, struct tc_gateway *ret)
{
    *ret = (struct tc_gateway){0};
    for (size_t i = 0; i < TC_GATEWAY_REQUESTS; i++)
        ret->requests[i] = TC_BUF_INIT;
    put_own(ret);
    for (size_t i = 0; i < count; i++)
        put_entry(ret, net[i].host);
    if (!ipv6)
        ret->requests[TC_GATEWAY_V6].len = 0;
    bool fine = add_listeners(ret, net, count, ipv6);
    for (size_t i = 0; i < TC_GATEWAY_REQUESTS; i++)
        fine &= !ret->requests[i].failed;
    if (fine)
        return 0;
    tc_gateway_done(ret);
    return -1;
}

void tc_gateway_done(struct tc_gateway *gateway)
{
    free(gateway->listeners);
    for (size_t i = 0; i < TC_GATEWAY_REQUESTS; i++)
        tc_buf_done(&gateway->requests[i]);
    *gateway = (struct tc_gateway){0};
}
