/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The listening sockets inside the cage, and their new connections. */
#include "egress/proxy/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"
#include "linux/meant.h"

struct tc_egress_listener {
    struct tc_egress_watch watch; /* first */
    struct tc_egress_listener *next;
    enum tc_egress_role role;
    size_t index; /* of a published port */
};

enum { BURST = 64, REST_US = 100000 };

/* ---- DNS queries over UDP ---- */

static void questions_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events)
{
    (void)events;
    for (int i = 0; i < BURST; i++) {
        unsigned char bytes[TC_EGRESS_DNS_MESSAGE_MAX + 1], answer[TC_EGRESS_DNS_MESSAGE_MAX];
        union tc_inet from;
        socklen_t len = sizeof(from);
        ssize_t n = recvfrom(watch->fd, bytes, sizeof(bytes), 0, &from.any, &len);
        if (n < 0)
            return;
        size_t size =
            n <= TC_EGRESS_DNS_MESSAGE_MAX ? tc_egress_answer(p, bytes, (size_t)n, answer) : 0;
        if (size)
            (void)sendto(watch->fd, answer, size, MSG_NOSIGNAL, &from.any, len);
    }
}

/* ---- connections ---- */

static void rest(struct tc_egress_proxy *p)
{
    p->listen_at = p->now + REST_US;
    for (struct tc_egress_listener *l = p->listeners; l; l = l->next)
        (void)tc_egress_watch_for(p, &l->watch, 0);
}

/* Further connections to published ports wait in the kernel. */
static void rest_published(struct tc_egress_proxy *p)
{
    p->published_rest = true;
    for (struct tc_egress_listener *l = p->listeners; l; l = l->next)
        if (l->role == TC_EGRESS_PUBLISHED)
            (void)tc_egress_watch_for(p, &l->watch, 0);
}

void tc_egress_listeners_tick(struct tc_egress_proxy *p)
{
    if (p->published_rest && p->published_count < p->published_max) {
        p->published_rest = false;
        p->listen_at = p->listen_at ? p->listen_at : p->now;
    }
    if (!p->listen_at || p->now < p->listen_at)
        return;
    p->listen_at = 0;
    for (struct tc_egress_listener *l = p->listeners; l; l = l->next)
        if (!tc_egress_watch_for(p, &l->watch, EPOLLIN))
            p->listen_at = p->now + REST_US;
}

/* A proxy connection over the limit gets a refusal in HTTP; if too many of those are open, a reset.
 */
static void handshake_new(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    enum { TOLD = 64 };
    bool many = p->flow_count + p->pair_count > p->flow_max && !tc_egress_flows_spare(p);
    if (f->role == TC_EGRESS_PROXY && p->flow_count <= p->flow_max + TOLD)
        f->speaks = TC_SPEAKS_HTTP;
    if (f->role == TC_EGRESS_DIRECT || f->role == TC_EGRESS_REDIRECTED)
        tc_egress_handshake_direct(p, f, many);
    else if (many)
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_MANY, NULL);
    else
        tc_egress_flow_watch(p, f);
}

static void connections_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                              uint32_t events)
{
    const struct tc_egress_listener *l = (const struct tc_egress_listener *)(void *)watch;
    (void)events;
    for (int i = 0; i < BURST; i++) {
        if (l->role == TC_EGRESS_PUBLISHED && p->published_count >= p->published_max) {
            rest_published(p);
            return;
        }
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                rest(p);
            return;
        }
        struct tc_egress_flow *f = tc_egress_flow_new(p, fd, l->role);
        if (f && l->role == TC_EGRESS_PUBLISHED)
            tc_egress_publish(p, f, l->index);
        else if (f)
            handshake_new(p, f);
        else
            (void)close(fd);
    }
}

/* ---- listeners ---- */

static bool fits(int fd, enum tc_egress_role role)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return false;
    if (role == TC_EGRESS_DNS_UDP || role == TC_EGRESS_DATAGRAMS)
        return type == SOCK_DGRAM;
    size = sizeof(int);
    bool streams =
        (role >= TC_EGRESS_PROXY && role <= TC_EGRESS_REDIRECTED) || role == TC_EGRESS_PUBLISHED;
    return streams && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

static void (*ready_of(enum tc_egress_role role))(struct tc_egress_proxy *,
                                                  struct tc_egress_watch *, uint32_t)
{
    return role == TC_EGRESS_DNS_UDP     ? questions_ready
           : role == TC_EGRESS_DATAGRAMS ? tc_egress_datagrams_ready
                                         : connections_ready;
}

bool tc_egress_listen(struct tc_egress_proxy *p, int fd, enum tc_egress_role role)
{
    _autofd_ int owned = fd;
    int flags = fcntl(fd, F_GETFL);
    if (!fits(fd, role) || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        (role == TC_EGRESS_DATAGRAMS && !tc_meant_watch(fd)) ||
        (role == TC_EGRESS_PUBLISHED && p->published_listeners >= p->config.published.count))
        return false;
    struct tc_egress_listener *l = calloc(1, sizeof(*l));
    if (!l)
        return false;
    l->role = role;
    l->index = role == TC_EGRESS_PUBLISHED ? p->published_listeners++ : 0;
    l->watch.fd = TAKE_FD(owned);
    l->watch.ready = ready_of(role);
    l->next = p->listeners;
    p->listeners = l;
    return tc_egress_watch_for(p, &l->watch, EPOLLIN);
}

/* Accepts the connections of a client that has exited: their data is still queued in the kernel. */
void tc_egress_listeners_end(struct tc_egress_proxy *p)
{
    for (struct tc_egress_listener *l = p->listeners; l; l = l->next) {
        size_t before;
        do {
            before = p->flow_count;
            if (l->role != TC_EGRESS_DNS_UDP && l->role != TC_EGRESS_PUBLISHED && l->watch.fd >= 0)
                l->watch.ready(p, &l->watch, EPOLLIN);
        } while (p->flow_count > before && p->flow_count <= p->flow_max);
        tc_egress_watch_close(p, &l->watch);
    }
    p->listen_at = 0;
}
