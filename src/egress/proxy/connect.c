/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connects a flow to its destination, directly or through the upstream proxy (struct
 * tc_egress_way). The proxy connects only to addresses that it has checked against the rules, so no
 * name is resolved twice. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/read/rules.h"
#include "egress/read/secrets.h"
#include "egress/read/socks.h"
#include "egress/read/stats.h"
#include "policy/endpoint.h"

/* ---- connected ---- */

/* Sends the client the reply of its protocol: it is connected. False: the flow is closed. */
static bool announce(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    static const char connected[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    unsigned char socks[TC_EGRESS_SOCKS_ANSWER_SIZE];
    bool fine = true;
    tc_egress_socks_answer(TC_EGRESS_SOCKS_FINE, socks);
    if (f->speaks == TC_SPEAKS_CONNECT)
        fine = tc_egress_side_send(p, &f->client, connected, sizeof(connected) - 1);
    else if (f->speaks == TC_SPEAKS_SOCKS)
        fine = tc_egress_side_send(p, &f->client, (const char *)socks, sizeof(socks));
    if (f->speaks != TC_SPEAKS_HTTP)
        f->speaks = TC_SPEAKS_BYTES; /* the client now speaks to the server */
    if (!fine)
        tc_egress_flow_close(p, f, true);
    return fine;
}

static bool is_joined(const struct tc_egress_proxy *p, const struct tc_egress_flow *f)
{
    return f->stage == TC_FLOW_JOINED && (f->server.watch.fd >= 0 || tc_egress_replays(p)) &&
           !f->server.eof && f->at.port == f->to.port && strcmp(f->at.name, f->to.name) == 0;
}

bool tc_egress_reach(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (is_joined(p, f))
        return f->client.tls && !f->server.tls && !tc_egress_replays(p)
                   ? tc_egress_wrap_server(p, f)
                   : tc_egress_forward(p, f);
    tc_egress_flow_leave(p, f);
    tc_egress_connect(p, f);
    return f->stage != TC_FLOW_DEAD;
}

/* The server's socket is connected: from now on the flow relays bytes. */
static void join(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    char target[TC_EGRESS_TARGET_MAX];
    tc_egress_target(f->to.name, f->to.port, target);
    f->destination = tc_egress_reached(p->stats, target);
    f->stage = TC_FLOW_JOINED;
    f->bound = !tc_egress_may_stream(&p->config, f->to.name, f->to.port);
    f->masks = tc_egress_secrets_go(&p->config, f->to.name, f->to.port);
    f->at = f->to;
    if (f->server.watch.fd >= 0)
        tc_egress_set_nodelay(f->server.watch.fd);
    tc_egress_set_nodelay(f->client.watch.fd);
    if (!announce(p, f))
        return;
    tc_egress_flow_deadline(p, f, f->in.len ? TC_EGRESS_HEAD_US : TC_EGRESS_IDLE_US);
    bool open = true;
    if (f->head.len)
        open = tc_egress_reach(p, f);
    else if (f->in.len)
        open = tc_egress_inspect(p, f);
    if (open)
        tc_egress_flow_watch(p, f);
}

/* ---- one attempt ---- */

/* Begins to connect to an address. 1: connected, 0: in progress, -1: failed. */
static int try_address(struct tc_egress_proxy *p, struct tc_egress_flow *f, const union tc_inet *to)
{
    tc_egress_watch_close(p, &f->server.watch);
    int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    f->server.watch.fd = fd;
    if (fd < 0)
        return -1;
    tc_egress_bound_buffers(fd, p->flow_count);
    tc_egress_set_reset(fd, true); /* cleared at an orderly end */
    if (connect(fd, &to->any, tc_inet_size(to)) == 0)
        return 1;
    return errno == EINPROGRESS ? 0 : -1;
}

/* ---- through the upstream proxy ---- */

static bool same_address(const union tc_inet *a, const union tc_inet *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    return a->any.sa_family == AF_INET
               ? a->v4.sin_port == b->v4.sin_port && a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr
               : a->v6.sin6_port == b->v6.sin6_port &&
                     memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof(a->v6.sin6_addr)) == 0;
}

/* Is this the upstream proxy's address? The tool must not reach it: the upstream proxy would
 * connect the tool to any host. */
static bool is_upstream(const struct tc_egress_way *way, const union tc_inet *to)
{
    for (size_t i = 0; way && i < way->count; i++)
        if (same_address(&way->addresses[i], to))
            return true;
    return false;
}

static void try_next(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* Connected to the upstream proxy: requests the destination from it. */
static void ask_way(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!tc_egress_upstream_ask(p, f))
        try_next(p, f);
    else
        tc_egress_flow_watch(p, f);
}

/* Connects to the upstream proxy, by its next address. */
static void dial_way(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_egress_way *way = f->way;
    while (way->next < way->count && p->now < f->connect_until) {
        int64_t left = f->connect_until - p->now;
        int got = try_address(p, f, &way->addresses[way->next++]);
        if (got < 0)
            continue;
        tc_egress_flow_deadline(p, f, left / (int64_t)(way->count - way->next + 1));
        if (got)
            ask_way(p, f);
        else
            tc_egress_flow_watch(p, f);
        return;
    }
    tc_egress_flow_refuse(p, f, TC_EGRESS_NO_UPSTREAM, NULL);
}

/* Reaches the destination through the upstream proxy: by this address, or (NULL) by its name. */
static void take_way(struct tc_egress_proxy *p, struct tc_egress_flow *f, const union tc_inet *to)
{
    f->way->taken = true;
    f->way->asked = false;
    f->way->next = 0;
    f->way->to = to;
    dial_way(p, f);
}

/* The upstream proxy has replied to the request. */
static void hear_way(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    enum tc_egress_answer answer = tc_egress_upstream_read(p, f);
    if (answer == TC_ANSWER_YES) {
        free(TAKE(f->way));
        join(p, f);
    } else if (answer == TC_ANSWER_NO) {
        try_next(p, f);
    }
}

/* ---- attempts in order ---- */

/* Names the address: the policy must name it, too. */
static void refuse_address(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                           const union tc_inet *address)
{
    char text[TC_EGRESS_ADDRESS_MAX];
    tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_PUBLIC, tc_egress_address_text(address, text));
}

/* No address is left, or no time: refuses the flow. */
static void give_up(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (p->now >= f->connect_until)
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_LATE, NULL);
    else if (f->way && f->way->why[0])
        tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_UPSTREAM, f->way->why);
    else
        tc_egress_flow_refuse(p, f, TC_EGRESS_NO_ANSWER, NULL);
}

/* Tries the destination's next address, a public one through the upstream proxy if there is one.
 * Each address gets an equal share of the remaining time, so that one without a reply leaves time
 * for the others. */
static void try_next(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    while (f->address_next < f->address_count && p->now < f->connect_until) {
        int64_t left = f->connect_until - p->now;
        int64_t share = left / (int64_t)(f->address_count - f->address_next);
        const union tc_inet *to = &f->addresses[f->address_next++];
        if (is_upstream(f->way, to)) {
            tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_PUBLIC, NULL);
            return;
        }
        if (f->way && tc_egress_is_public(&to->any)) {
            take_way(p, f, to);
            return;
        }
        if (f->way)
            f->way->taken = f->way->asked = false;
        int got = try_address(p, f, to);
        if (got < 0)
            continue;
        tc_egress_flow_deadline(p, f, share);
        if (got)
            join(p, f);
        else
            tc_egress_flow_watch(p, f);
        return;
    }
    give_up(p, f);
}

void tc_egress_connect_ready(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    int error = 0;
    socklen_t len = sizeof(error);
    bool by = f->way && f->way->taken;
    if (f->role == TC_EGRESS_PUBLISHED)
        tc_egress_publish_ready(p, f);
    else if (by && f->way->asked)
        hear_way(p, f);
    else if (getsockopt(f->server.watch.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)
        (by ? dial_way : try_next)(p, f);
    else
        (by ? ask_way : join)(p, f);
}

void tc_egress_connect_late(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool by = f->way && f->way->taken;
    if (f->role == TC_EGRESS_PUBLISHED || f->query || (by && f->way->asked))
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_LATE, NULL);
    else if (by)
        dial_way(p, f);
    else
        try_next(p, f);
}

/* ---- addresses ---- */

/* The destination's name was looked up. */
static void resolved(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                     enum tc_egress_resolved how)
{
    struct tc_egress_flow *f = ctx;
    f->query = NULL;
    if (how == TC_EGRESS_RESOLVED_FORBIDDEN) {
        refuse_address(p, f, &query->forbidden);
    } else if (how == TC_EGRESS_RESOLVED_NOWHERE) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_NO_NAME, NULL);
    } else {
        memcpy(f->addresses, query->addresses, query->count * sizeof(query->addresses[0]));
        f->address_count = query->count;
        try_next(p, f);
    }
}

static void connect_target(struct tc_egress_proxy *p, struct tc_egress_flow *f);

/* The upstream proxy's name was looked up. If it has no address, only direct connections succeed.
 */
static void way_resolved(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                         enum tc_egress_resolved how)
{
    struct tc_egress_flow *f = ctx;
    f->query = NULL;
    if (how == TC_EGRESS_RESOLVED) {
        memcpy(f->way->addresses, query->addresses, query->count * sizeof(query->addresses[0]));
        f->way->count = query->count;
    }
    connect_target(p, f);
}

typedef void found_fn(struct tc_egress_proxy *p, void *ctx, struct tc_egress_query *query,
                      enum tc_egress_resolved how);

static void look_up(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *host,
                    unsigned port, found_fn *done)
{
    struct tc_egress_query *query = calloc(1, sizeof(*query));
    if (!query) {
        tc_egress_flow_close(p, f, true);
        return;
    }
    tc_strcopy(query->host, sizeof(query->host), host);
    query->port = port;
    query->any = done == way_resolved;
    query->done = done;
    query->ctx = f;
    f->query = query;
    tc_egress_flow_watch(p, f);
    if (f->stage != TC_FLOW_DEAD)
        tc_egress_resolve(p, query);
    else
        free(query);
}

static void add_address(struct tc_egress_flow *f, const char *text)
{
    f->address_count += tc_egress_address_read(text, f->to.port, &f->addresses[f->address_count]);
}

static void connect_target(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool local = tc_host_is_local_name(f->to.name);
    if (!f->literal && !local && p->config.upstream.host && p->config.upstream.names) {
        take_way(p, f, NULL);
        return;
    }
    if (!f->literal && !local) {
        look_up(p, f, f->to.name, f->to.port, resolved);
        return;
    }
    if (f->literal) {
        add_address(f, f->to.name);
    } else {
        add_address(f, "127.0.0.1");
        add_address(f, "::1");
        if (!tc_egress_may_reach(&p->config, f->to.name, f->to.port, &f->addresses[0].any)) {
            refuse_address(p, f, &f->addresses[0]);
            return;
        }
    }
    try_next(p, f);
}

/* Resolves the upstream proxy's name before every connection, also before a direct one:
 * is_upstream() needs its addresses. */
static void connect_way(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    const struct tc_upstream *up = &p->config.upstream;
    const char *host = tc_host_is_local_name(up->host) ? "127.0.0.1" : up->host;
    f->way = calloc(1, sizeof(*f->way));
    if (!f->way) {
        tc_egress_flow_close(p, f, true);
    } else if (tc_egress_address_read(host, up->port, &f->way->addresses[0])) {
        f->way->count = 1;
        connect_target(p, f);
    } else {
        look_up(p, f, host, up->port, way_resolved);
    }
}

void tc_egress_connect(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!tc_egress_meter_left(p)) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_SPENT, NULL);
        return;
    }
    if (tc_egress_replays(p)) {
        join(p, f);
        return;
    }
    f->stage = TC_FLOW_SEEK;
    f->connect_until = p->now + TC_EGRESS_SEEK_US;
    tc_egress_flow_deadline(p, f, TC_EGRESS_SEEK_US);
    if (p->config.upstream.host)
        connect_way(p, f);
    else
        connect_target(p, f);
}
