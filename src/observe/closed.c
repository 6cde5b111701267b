/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A connect to a granted port of the host's loopback that no service listens on. The cage's own
 * listener would accept it before the proxy has tried the host, and a program could not tell a
 * closed port from a broken service. Such a connect is refused here instead. The answer opens
 * nothing: a racing thread can only spoil its own connect. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "egress/gateway/gateway.h"
#include "observe/observe.h"
#include "observe/watch.h"

/* ---- the host ---- */

static void make_request(const union tc_inet *to, struct inet_diag_req_v2 *ret)
{
    enum { LOOPBACK = 1 };
    bool v6 = to->any.sa_family == AF_INET6;
    *ret =
        (struct inet_diag_req_v2){.sdiag_family = (unsigned char)to->any.sa_family,
                                  .sdiag_protocol = IPPROTO_TCP,
                                  .id = {.idiag_sport = v6 ? to->v6.sin6_port : to->v4.sin_port,
                                         .idiag_if = LOOPBACK,
                                         .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    if (v6)
        memcpy(ret->id.idiag_src, &to->v6.sin6_addr, sizeof(to->v6.sin6_addr));
    else
        memcpy(ret->id.idiag_src, &to->v4.sin_addr, sizeof(to->v4.sin_addr));
}

/* Asks the kernel for the socket that would accept the connection. A service does not notice. */
static bool has_listener(const union tc_inet *to)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } ask = {.head = {.nlmsg_len = sizeof(ask),
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST}};
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    _autofd_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    make_request(to, &ask.body);
    return fd >= 0 && send(fd, &ask, sizeof(ask), 0) >= 0 &&
           recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) >= (ssize_t)sizeof(answer.head) &&
           answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

/* A packet filter may redirect the port, and the kernel may lack the module for has_listener(). On
 * the loopback the reply is there when connect() returns. */
static bool refuses(const union tc_inet *to)
{
    enum { PATIENCE_MS = 1 };
    int error = 0;
    socklen_t size = sizeof(error);
    _autofd_ int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT;
    if (connect(fd, &to->any, tc_inet_size(to)) == 0)
        return false;
    if (errno != EINPROGRESS)
        return true;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return poll(&ready, 1, PATIENCE_MS) > 0 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error;
}

/* ---- the grant ---- */

enum tc_closed tc_connect_closed(const struct tc_plan *plan, const union tc_inet *to)
{
    switch (tc_gateway_local(plan->net, plan->net_count, &to->any)) {
    case TC_GATEWAY_OTHER:
        return TC_CLOSED_OTHER;
    case TC_GATEWAY_GRANTED:
        return has_listener(to) || !refuses(to) ? TC_CLOSED_NOT : TC_CLOSED_YES;
    case TC_GATEWAY_ELSEWHERE:
        break;
    }
    return TC_CLOSED_NOT;
}

static void list_other(struct tc_cage *cage, const union tc_inet *to)
{
    char target[32];
    bool v6 = to->any.sa_family == AF_INET6;
    (void)snprintf(target, sizeof(target), v6 ? "[::1]:%u" : "127.0.0.1:%u",
                   ntohs(v6 ? to->v6.sin6_port : to->v4.sin_port));
    tc_notify_note(cage, &(struct tc_listed){TC_DENIAL_LOOPBACK, target, NULL, true, false});
}

bool tc_notify_closed(struct tc_cage *cage, const struct seccomp_notif *n)
{
    const struct tc_observer *o = cage->observer;
    union tc_inet to;
    if (!o->running || !o->of.loopback || !cage->plan->net_count ||
        !tc_reach_read((pid_t)n->pid, n->data.args[1], (size_t)n->data.args[2], &to) ||
        !tc_notify_waits(o->listener, n))
        return false;
    enum tc_closed closed = tc_connect_closed(cage->plan, &to);
    if (closed == TC_CLOSED_OTHER)
        list_other(cage, &to);
    return closed != TC_CLOSED_NOT;
}
