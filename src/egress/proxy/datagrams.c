/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * UDP to endpoints of the grant. A datagram does not name its host, so only its destination address
 * can be checked. Each pair of source and destination has its own socket outside, connected to a
 * checked address, so that it receives datagrams from that address only. */
#include "egress/proxy/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "egress/proxy/resolve.h"
#include "egress/read/rules.h"
#include "egress/read/stats.h"
#include "policy/endpoint.h"

enum {
    BURST = 64,           /* datagrams per socket and wakeup */
    HELD_MAX = 4,         /* per pair, while a name is resolved; more are dropped */
    HELD_BYTES = 2048,    /* per stored datagram */
    SILENT_US = 60000000, /* idle time after which a pair ends */
    TICK_US = 1000000,
};

struct held {
    size_t len;
    char bytes[HELD_BYTES];
};

struct tc_egress_pair {
    struct tc_egress_watch watch;           /* first; the socket outside */
    struct tc_egress_pair *next, **at;      /* most recently used first */
    const struct tc_egress_watch *listener; /* sends the replies */
    union tc_inet from, meant;              /* addresses in the cage */
    char host[TC_EGRESS_HOST_SIZE];
    uint32_t port;
    struct tc_egress_query *query; /* while the name is resolved */
    struct held *held;
    size_t held_count;
    struct tc_egress_destination *destination;
    int64_t used_at;
};

/* ---- pairs ---- */

static void unlink_pair(struct tc_egress_pair *pair)
{
    *pair->at = pair->next;
    if (pair->next)
        pair->next->at = pair->at;
}

static void link_first(struct tc_egress_proxy *p, struct tc_egress_pair *pair)
{
    pair->at = &p->pairs;
    pair->next = p->pairs;
    if (pair->next)
        pair->next->at = &pair->next;
    p->pairs = pair;
}

/* A pending epoll event may still refer to the pair, so the tick frees it. */
static void end_pair(struct tc_egress_proxy *p, struct tc_egress_pair *pair)
{
    unlink_pair(pair);
    tc_egress_watch_close(p, &pair->watch);
    if (pair->query)
        tc_egress_resolve_end(p, TAKE(pair->query));
    free(TAKE(pair->held));
    p->pair_count--;
    pair->next = p->ended_pairs;
    p->ended_pairs = pair;
}

static bool same(const union tc_inet *a, const union tc_inet *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static struct tc_egress_pair *find_pair(struct tc_egress_proxy *p,
                                        const struct tc_egress_watch *listener,
                                        const union tc_inet *from, const union tc_inet *meant)
{
    struct tc_egress_pair *pair = p->pairs;
    while (pair &&
           (pair->listener != listener || !same(&pair->from, from) || !same(&pair->meant, meant)))
        pair = pair->next;
    return pair;
}

/* Pairs count as connections. A client that uses a new port for each query leaves many pairs, so
 * the least recently used one ends. */
static bool make_room(struct tc_egress_proxy *p)
{
    struct tc_egress_pair *last = p->pairs;
    if (p->flow_count + p->pair_count < p->flow_max)
        return true;
    while (last && last->next)
        last = last->next;
    if (!last)
        return false;
    end_pair(p, last);
    return true;
}

/* ---- out ---- */

static void deny(struct tc_egress_proxy *p, const struct tc_egress_pair *pair,
                 enum tc_egress_reason reason, const union tc_inet *address)
{
    char target[TC_EGRESS_TARGET_MAX], text[TC_EGRESS_ADDRESS_MAX];
    tc_egress_target(pair->host, pair->port, target);
    tc_egress_deny(p->stats, target, reason, address ? tc_egress_address_text(address, text) : NULL,
                   false);
}

/* Datagrams over the limits are dropped, as UDP allows. */
static void send_out(struct tc_egress_proxy *p, struct tc_egress_pair *pair, const char *bytes,
                     size_t len)
{
    if (!tc_egress_meter_datagram(p, len))
        return;
    if (!tc_egress_meter_take(p, len)) {
        deny(p, pair, TC_EGRESS_SPENT, NULL);
        return;
    }
    if (send(pair->watch.fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len)
        tc_egress_sent(p->stats, pair->destination, len);
}

static void hold(struct tc_egress_pair *pair, const char *bytes, size_t len)
{
    if (pair->held_count == HELD_MAX || len > HELD_BYTES)
        return;
    if (!pair->held && !(pair->held = calloc(HELD_MAX, sizeof(*pair->held))))
        return;
    struct held *held = &pair->held[pair->held_count++];
    held->len = len;
    memcpy(held->bytes, bytes, len);
}

/* ---- replies ---- */

static void send_back(const struct tc_egress_pair *pair, char *bytes, size_t len)
{
    union tc_meant_control control;
    struct iovec part = {.iov_base = bytes, .iov_len = len};
    struct msghdr message = {.msg_name = (void *)(uintptr_t)&pair->from,
                             .msg_namelen = tc_inet_size(&pair->from),
                             .msg_iov = &part,
                             .msg_iovlen = 1};
    tc_meant_answer(&message, &control, &pair->meant);
    if (pair->listener->fd >= 0)
        (void)sendmsg(pair->listener->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answers_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    struct tc_egress_pair *pair = (struct tc_egress_pair *)(void *)watch;
    (void)events;
    for (int i = 0; i < BURST; i++) {
        ssize_t n = recv(watch->fd, p->scratch, sizeof(p->scratch), MSG_DONTWAIT);
        if (n < 0 && errno == ECONNREFUSED)
            continue; /* nothing listens there; the tool gets no error, as over the internet */
        if (n < 0)
            return;
        pair->used_at = p->now;
        if (!tc_egress_meter_datagram(p, (size_t)n))
            continue;
        if (!tc_egress_meter_take(p, (size_t)n)) {
            deny(p, pair, TC_EGRESS_SPENT, NULL);
            continue;
        }
        tc_egress_received(p->stats, pair->destination, (size_t)n);
        send_back(pair, p->scratch, (size_t)n);
    }
}

/* ---- destinations ---- */

/* The addresses are already checked. False: none can be reached. */
static bool dial(struct tc_egress_proxy *p, struct tc_egress_pair *pair, const union tc_inet *to,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int fd = socket(to[i].any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        pair->watch.fd = fd;
        if (fd >= 0 && connect(fd, &to[i].any, tc_inet_size(&to[i])) == 0 &&
            tc_egress_watch_for(p, &pair->watch, EPOLLIN))
            return true;
        tc_egress_watch_close(p, &pair->watch);
    }
    return false;
}

static void go_on(struct tc_egress_proxy *p, struct tc_egress_pair *pair, const union tc_inet *to,
                  size_t count)
{
    char target[TC_EGRESS_TARGET_MAX];
    if (!dial(p, pair, to, count)) {
        end_pair(p, pair);
        return;
    }
    tc_egress_target(pair->host, pair->port, target);
    pair->destination = tc_egress_reached(p->stats, target);
    for (size_t i = 0; i < pair->held_count; i++)
        send_out(p, pair, pair->held[i].bytes, pair->held[i].len);
    free(TAKE(pair->held));
    pair->held_count = 0;
}

static void resolved(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                     enum tc_egress_resolved how)
{
    struct tc_egress_pair *pair = ctx;
    pair->query = NULL;
    if (how == TC_EGRESS_RESOLVED) {
        go_on(p, pair, query->addresses, query->count);
        return;
    }
    if (how == TC_EGRESS_RESOLVED_FORBIDDEN)
        deny(p, pair, TC_EGRESS_NOT_PUBLIC, &query->forbidden);
    end_pair(p, pair);
}

static void look_up(struct tc_egress_proxy *p, struct tc_egress_pair *pair)
{
    struct tc_egress_query *query = calloc(1, sizeof(*query));
    if (!query) {
        end_pair(p, pair);
        return;
    }
    tc_strcopy(query->host, sizeof(query->host), pair->host);
    query->port = pair->port;
    query->done = resolved;
    query->ctx = pair;
    pair->query = query;
    tc_egress_resolve(p, query);
}

static void seek(struct tc_egress_proxy *p, struct tc_egress_pair *pair)
{
    union tc_inet to[2];
    bool local = tc_host_is_local_name(pair->host);
    if (tc_egress_replays(p)) {
        deny(p, pair, TC_EGRESS_NOT_KEPT, NULL);
        end_pair(p, pair);
        return;
    }
    tc_egress_kept_lost(p, NULL, TC_EXCHANGE_UDP);
    if (!local && !tc_host_is_address(pair->host)) {
        look_up(p, pair);
        return;
    }
    (void)tc_egress_address_read(local ? "127.0.0.1" : pair->host, pair->port, &to[0]);
    (void)tc_egress_address_read("::1", pair->port, &to[1]);
    if (local && !tc_egress_may_reach(&p->config, pair->host, pair->port, &to[0].any)) {
        deny(p, pair, TC_EGRESS_NOT_PUBLIC, &to[0]);
        end_pair(p, pair);
    } else {
        go_on(p, pair, to, local ? 2 : 1);
    }
}

/* NULL: refused, and the denial is recorded. */
static struct tc_egress_pair *new_pair(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                                       const union tc_inet *from, const union tc_inet *meant)
{
    struct tc_egress_host to;
    struct tc_egress_pair *pair = calloc(1, sizeof(*pair));
    if (!pair || !tc_egress_address_meant(&p->names, meant, &to)) {
        free(pair);
        return NULL;
    }
    pair->watch = (struct tc_egress_watch){.fd = -1, .ready = answers_ready};
    pair->listener = listener;
    pair->from = *from;
    pair->meant = *meant;
    tc_strcopy(pair->host, sizeof(pair->host), to.name);
    pair->port = TC_PORT_UDP | to.port;
    int reason = !tc_egress_may_some(&p->config, pair->host, pair->port) ? TC_EGRESS_NOT_NAMED
                 : !tc_egress_meter_left(p)                              ? TC_EGRESS_SPENT
                 : !make_room(p)                                         ? TC_EGRESS_TOO_MANY
                                                                         : 0;
    if (!reason) {
        link_first(p, pair);
        p->pair_count++;
        if (!p->datagrams_at)
            p->datagrams_at = p->now + TICK_US;
        return pair;
    }
    deny(p, pair, (enum tc_egress_reason)reason, NULL);
    free(pair);
    return NULL;
}

/* ---- datagrams of the cage ---- */

static void take_datagram(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                          const union tc_inet *from, const union tc_inet *meant, size_t len)
{
    struct tc_egress_pair *pair = find_pair(p, listener, from, meant);
    bool is_new = !pair;
    if (is_new && !(pair = new_pair(p, listener, from, meant)))
        return;
    pair->used_at = p->now;
    unlink_pair(pair);
    link_first(p, pair);
    if (pair->watch.fd >= 0)
        send_out(p, pair, p->scratch, len);
    else
        hold(pair, p->scratch, len);
    if (is_new)
        seek(p, pair);
}

void tc_egress_datagrams_ready(struct tc_egress_proxy *p, struct tc_egress_watch *listener,
                               uint32_t events)
{
    (void)events;
    for (int i = 0; i < BURST && listener->fd >= 0; i++) {
        union tc_inet from = {0}, meant;
        union tc_meant_control control;
        struct iovec part = {.iov_base = p->scratch, .iov_len = sizeof(p->scratch)};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof(from),
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(listener->fd, &message, MSG_DONTWAIT);
        if (n < 0)
            return;
        if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
            tc_meant_datagram(listener->fd, &message, &meant))
            take_datagram(p, listener, &from, &meant, (size_t)n);
    }
}

/* ---- time ---- */

void tc_egress_datagrams_tick(struct tc_egress_proxy *p)
{
    struct tc_egress_pair *next;
    while (p->ended_pairs) {
        struct tc_egress_pair *pair = p->ended_pairs;
        p->ended_pairs = pair->next;
        free(pair);
    }
    if (!p->datagrams_at || p->now < p->datagrams_at)
        return;
    for (struct tc_egress_pair *pair = p->pairs; pair; pair = next) {
        next = pair->next;
        if (!pair->query && p->now - pair->used_at >= SILENT_US)
            end_pair(p, pair);
    }
    p->datagrams_at = p->pairs ? p->now + TICK_US : 0;
}

bool tc_egress_datagrams_sent(const struct tc_egress_proxy *p)
{
    for (const struct tc_egress_pair *pair = p->pairs; pair; pair = pair->next)
        if (pair->query)
            return false;
    return true;
}
