/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The published ports of a live session. A client outside connects to a listening socket of the
 * host; the proxy connects a socket of the cage's network namespace to the port on the cage's
 * loopback, 127.0.0.1 first and then ::1, and relays the bytes unread. PID 1 of the session makes
 * these sockets on request. So the proxy, which cannot enter the namespace, chooses the port, and
 * no address outside the cage can be reached with such a socket. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/strv.h"
#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

enum { BUFFERED_AS = 128 /* as with so many connections: tc_egress_bound_buffers() */ };

/* ---- sockets of PID 1 ---- */

/* Requests a socket for the next address; without one left, or if PID 1 does not read, the client
 * gets a reset. */
static void ask(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_watch_close(p, &f->server.watch);
    int32_t family = f->address_next < f->address_count
                         ? f->addresses[f->address_next++].any.sa_family
                         : AF_UNSPEC;
    if (family == AF_UNSPEC || tc_send_now(p->sockets.fd, &family, sizeof(family), NULL, 0) < 0) {
        tc_egress_flow_close(p, f, true);
        return;
    }
    f->lacks = true;
    tc_egress_flow_watch(p, f);
}

static void join(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->stage = TC_FLOW_JOINED;
    tc_egress_set_nodelay(f->server.watch.fd);
    tc_egress_flow_deadline(p, f, TC_EGRESS_IDLE_US);
    tc_egress_flow_watch(p, f);
}

static int option(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

static bool fits(int fd, int32_t family)
{
    return fd >= 0 && option(fd, SO_DOMAIN) == family && option(fd, SO_TYPE) == SOCK_STREAM &&
           option(fd, SO_PROTOCOL) == IPPROTO_TCP && option(fd, SO_ACCEPTCONN) == 0;
}

/* Takes the fd; -1: PID 1 could make no socket. */
static void take_socket(struct tc_egress_proxy *p, struct tc_egress_flow *f, int fd, int32_t family)
{
    const union tc_inet *to = &f->addresses[f->address_next - 1];
    f->lacks = false;
    f->server.watch.fd = fd;
    if (!fits(fd, family)) {
        ask(p, f);
        return;
    }
    tc_egress_bound_buffers(fd, BUFFERED_AS);
    tc_egress_set_reset(fd, true); /* cleared at an orderly end */
    if (connect(fd, &to->any, tc_inet_size(to)) == 0)
        join(p, f);
    else if (errno == EINPROGRESS)
        tc_egress_flow_watch(p, f);
    else
        ask(p, f);
}

/* Replies match requests in number and family; a flow that ended has left its reply to another. */
static struct tc_egress_flow *find_waiting(const struct tc_egress_proxy *p, int32_t family)
{
    for (struct tc_egress_flow *f = p->flows; f; f = f->next)
        if (f->lacks && f->addresses[f->address_next - 1].any.sa_family == family)
            return f;
    return NULL;
}

static void sockets_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    enum { BURST = 64 };
    (void)events;
    for (int i = 0; i < BURST; i++) {
        int32_t family = AF_UNSPEC;
        int fds[1];
        size_t count = 0;
        ssize_t n = tc_recv(watch->fd, &family, sizeof(family), fds, 1, &count, NULL, NULL, false);
        _autofd_ int fd = count ? fds[0] : -1;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n != sizeof(family)) { /* the session has ended */
            (void)tc_egress_watch_for(p, watch, 0);
            return;
        }
        struct tc_egress_flow *f = find_waiting(p, family);
        if (f)
            take_socket(p, f, TAKE_FD(fd), family);
    }
}

bool tc_egress_publish_open(struct tc_egress_proxy *p)
{
    p->sockets = (struct tc_egress_watch){.fd = p->config.sockets, .ready = sockets_ready};
    return !p->config.published.count || tc_egress_watch_for(p, &p->sockets, EPOLLIN);
}

/* ---- connections ---- */

void tc_egress_publish(struct tc_egress_proxy *p, struct tc_egress_flow *f, size_t index)
{
    struct tc_publish publish;
    struct tc_complaint c;
    struct tc_egress_destination *record = &p->stats->published[index];
    bool fine = tc_publish_read(p->config.published.items[index], &publish, &c);
    f->destination = record;
    f->mode = TC_MODE_STREAM;
    f->stage = TC_FLOW_SEEK;
    atomic_fetch_add(&record->connections, 1);
    if (!fine || !tc_egress_meter_left(p) || p->finish_at) {
        tc_egress_flow_close(p, f, true);
        return;
    }
    tc_egress_set_nodelay(f->client.watch.fd);
    f->address_count = 2;
    f->addresses[0].v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                              .sin_port = htons(publish.port),
                                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    f->addresses[1].v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                               .sin6_port = htons(publish.port),
                                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    tc_egress_flow_deadline(p, f, TC_EGRESS_SEEK_US);
    ask(p, f);
}

void tc_egress_publish_ready(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    int error = option(f->server.watch.fd, SO_ERROR);
    if (error)
        ask(p, f);
    else
        join(p, f);
}
