/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The network of a cage with an allowlist, set up in its network namespace by the cage's first
 * process. No interface leads out. The addresses that represent granted hosts are local, sockets
 * listen on the granted ports, and the egress proxy outside accepts from them. No toolcage process
 * stays inside. Runs in the child, see child.c. */
#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cage/init_config.h"
#include "cage/stages.h"

enum { BACKLOG = 1024, ANSWER = 1024, BUFFER = 1 << 16 };

int tc_stage_loopback(const struct tc_init_config *init)
{
    (void)init;
    _autofd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &lo);
}

/* Checks the kernel's acknowledgement of a request. */
static int heard(const struct nlmsghdr *answer, ssize_t size)
{
    if (size < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) ||
        answer->nlmsg_type != NLMSG_ERROR) {
        errno = size < 0 ? errno : EPROTO;
        return -1;
    }
    errno = -((const struct nlmsgerr *)NLMSG_DATA(answer))->error;
    return errno == 0 ? 0 : -1;
}

static int ask_netlink(int netlink, const struct nlmsghdr *request)
{
    union {
        struct nlmsghdr head;
        char bytes[ANSWER];
    } answer;
    if (send(netlink, request, request->nlmsg_len, 0) < 0)
        return -1;
    return heard(&answer.head, recv(netlink, &answer, sizeof(answer), 0));
}

static int ask_all(int netlink, const struct tc_gateway_requests *requests)
{
    for (size_t at = 0; at < requests->len;) {
        const struct nlmsghdr *request = (const void *)(requests->at + at);
        if (ask_netlink(netlink, request) < 0)
            return -1;
        at += NLMSG_ALIGN(request->nlmsg_len);
    }
    return 0;
}

/* nf_tables applies a batch completely or not at all. Only the last request asks for an
 * acknowledgement: any earlier reply is an error. */
static int ask_filter(const struct tc_gateway_requests *batch)
{
    union {
        struct nlmsghdr head;
        char bytes[ANSWER];
    } answer;
    _autofd_ int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (netlink < 0 || send(netlink, batch->at, batch->len, 0) < 0)
        return -1;
    return heard(&answer.head, recv(netlink, &answer, sizeof(answer), 0));
}

static int bound(const struct tc_gateway_listener *l, int family)
{
    const struct sockaddr *at =
        family == AF_INET6 ? (const struct sockaddr *)&l->v6 : (const struct sockaddr *)&l->v4;
    _autofd_ int fd = socket(family, l->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int size = BUFFER;    /* also of accepted sockets: the peer is on this host */
    const int alone = !l->both; /* IPv6 only */
    if (fd >= 0 && family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof(alone)) < 0)
        return -1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ||
        bind(fd, at, family == AF_INET6 ? sizeof(l->v6) : sizeof(l->v4)) < 0)
        return -1;
    if (l->type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
        return -1;
    return TAKE_FD(fd);
}

static int open_listener(const struct tc_gateway_listener *l)
{
    int fd = l->v6.sin6_family ? bound(l, AF_INET6) : -1;
    return fd < 0 ? bound(l, AF_INET) : fd;
}

/* Sends as many listeners as fit in one message, from index `from`; their number, or -1. */
static int send_some(const struct tc_init_network *n, size_t from, size_t all, int report)
{
    int fds[TC_EGRESS_LISTENERS_MAX], count = 0, rc = 0;
    struct tc_report said = {.kind = TC_REPORT_NETWORK, .status = (int32_t)from, .us = tc_now_us()};
    for (; rc == 0 && count < TC_EGRESS_LISTENERS_MAX && from < all; from++) {
        fds[count] = open_listener(&n->listeners[from]);
        rc = fds[count] < 0 ? -1 : 0;
        count += rc == 0;
    }
    if (rc == 0)
        rc = tc_send(report, &said, sizeof(said), fds, (size_t)count);
    tc_close_all(fds, (size_t)count);
    return rc < 0 ? -1 : count;
}

int tc_stage_network(const struct tc_init_config *init, int report)
{
    const struct tc_init_network *n = init->network;
    if (!n)
        return 0;
    _autofd_ int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0 || ask_all(netlink, &n->requests[TC_GATEWAY_V4]) < 0)
        return -1;
    (void)ask_all(netlink, &n->requests[TC_GATEWAY_V6]);
    if (n->requests[TC_GATEWAY_FILTER_V4].len && ask_filter(&n->requests[TC_GATEWAY_FILTER_V4]) < 0)
        return -1;
    if (n->requests[TC_GATEWAY_FILTER_V6].len)
        (void)ask_filter(&n->requests[TC_GATEWAY_FILTER_V6]);
    const size_t all = n->listeners_size / sizeof(*n->listeners);
    for (size_t i = 0; i < all;) {
        int sent = send_some(n, i, all, report);
        if (sent < 0)
            return -1;
        i += (size_t)sent;
    }
    return 0;
}
