/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/resolve.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "egress/read/host.h"
#include "egress/read/rules.h"

/* A lookup lasts until c-ares gives up, even if its flow has ended. Above LOOKUPS_MAX, further
 * names do not resolve. */
enum { SOCKETS_MAX = 64, LOOKUPS_MAX = 256, LOOK_US = 1000000 };

struct name_socket {
    struct tc_egress_watch watch; /* first */
    struct tc_egress_channel *channel;
};

struct tc_egress_channel {
    ares_channel ares;
    struct tc_egress_resolver *resolver;
    size_t pending;
    struct tc_egress_channel *next; /* older channels, which finish their pending queries */
};

/* A pending lookup of one name; all queries for that name share it. */
struct lookup {
    char host[TC_EGRESS_HOST_SIZE];
    struct tc_egress_resolver *resolver;
    struct tc_egress_channel *channel;
    struct tc_egress_query *queries;
    struct lookup *next;
};

struct tc_egress_resolver {
    struct tc_egress_proxy *p;
    struct lookup *lookups;
    size_t lookup_count;
    struct tc_egress_channel *channels; /* the first one gets new queries */
    struct stat seen;                   /* /etc/resolv.conf when the first channel was created */
    int64_t looked;
    struct name_socket sockets[SOCKETS_MAX];
};

/* ---- sockets of c-ares ---- */

static void socket_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    struct name_socket *s = (struct name_socket *)(void *)watch;
    ares_socket_t fd = watch->fd;
    (void)p;
    ares_process_fd(s->channel->ares,
                    events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD,
                    events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
}

static struct name_socket *find_socket(struct tc_egress_resolver *r, int fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (r->sockets[i].watch.fd == fd)
            return &r->sockets[i];
    return NULL;
}

/* Without a free slot the socket is not watched; its query times out. */
static void socket_changed(void *data, ares_socket_t fd, int readable, int writable)
{
    struct tc_egress_channel *channel = data;
    struct tc_egress_resolver *r = channel->resolver;
    struct name_socket *s = find_socket(r, fd);
    s = s ? s : find_socket(r, -1);
    if (!s)
        return;
    s->watch.fd = fd;
    s->watch.ready = socket_ready;
    s->channel = channel;
    uint32_t events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
    (void)tc_egress_watch_for(r->p, &s->watch, events);
    if (!events)
        s->watch.fd = -1; /* c-ares closes it */
}

/* ---- channels ---- */

/* Names are looked up exactly as the grant spells them: no search list, no aliases. */
static struct tc_egress_channel *open_channel(struct tc_egress_resolver *r)
{
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = 2000,
        .tries = 3,
        .sock_state_cb = socket_changed,
    };
    struct tc_egress_channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    channel->resolver = r;
    options.sock_state_cb_data = channel;
    if (ares_init_options(&channel->ares, &options,
                          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                              ARES_OPT_SOCK_STATE_CB) != ARES_SUCCESS) {
        free(channel);
        return NULL;
    }
    channel->next = r->channels;
    r->channels = channel;
    return channel;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The host's network may change during a call. If no new channel can be made, the old one is kept.
 */
static struct tc_egress_channel *current_channel(struct tc_egress_resolver *r)
{
    struct stat now = {0};
    if (r->p->now - r->looked < LOOK_US)
        return r->channels;
    r->looked = r->p->now;
    if (stat("/etc/resolv.conf", &now) < 0)
        memset(&now, 0, sizeof(now));
    if (!same_file(&now, &r->seen) && open_channel(r))
        r->seen = now;
    return r->channels;
}

bool tc_egress_resolver_open(struct tc_egress_proxy *p)
{
    struct tc_egress_resolver *r = calloc(1, sizeof(*r));
    if (!r || ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        free(r);
        return false;
    }
    r->p = p;
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        r->sockets[i].watch.fd = -1;
    if (stat("/etc/resolv.conf", &r->seen) < 0)
        memset(&r->seen, 0, sizeof(r->seen));
    p->resolver = r;
    return open_channel(r) != NULL;
}

/* Frees replaced channels without pending queries. */
static void drop_old(struct tc_egress_resolver *r)
{
    struct tc_egress_channel **at = &r->channels->next;
    while (*at) {
        struct tc_egress_channel *channel = *at;
        if (channel->pending) {
            at = &channel->next;
            continue;
        }
        *at = channel->next;
        ares_destroy(channel->ares);
        free(channel);
    }
}

int64_t tc_egress_resolver_until(const struct tc_egress_resolver *r, int64_t now)
{
    int64_t soonest = 0;
    for (const struct tc_egress_channel *c = r->channels; c; c = c->next) {
        struct timeval left;
        if (!c->pending || !ares_timeout(c->ares, NULL, &left))
            continue;
        int64_t until = now + (int64_t)left.tv_sec * 1000000 + left.tv_usec;
        soonest = soonest && soonest < until ? soonest : until;
    }
    return soonest;
}

void tc_egress_resolver_tick(struct tc_egress_resolver *r)
{
    for (struct tc_egress_channel *c = r->channels; c; c = c->next)
        if (c->pending)
            ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    drop_old(r);
}

/* ---- queries ---- */

static bool take_address(const struct tc_egress_config *config, struct tc_egress_query *query,
                         const struct ares_addrinfo_node *node)
{
    union tc_inet address = {0};
    if (node->ai_family == AF_INET && node->ai_addrlen >= (int)sizeof(address.v4))
        memcpy(&address.v4, node->ai_addr, sizeof(address.v4));
    else if (node->ai_family == AF_INET6 && node->ai_addrlen >= (int)sizeof(address.v6))
        memcpy(&address.v6, node->ai_addr, sizeof(address.v6));
    else
        return true;
    if (address.any.sa_family == AF_INET)
        address.v4.sin_port = htons((uint16_t)query->port);
    else
        address.v6.sin6_port = htons((uint16_t)query->port);
    if (!query->any && !tc_egress_may_reach(config, query->host, query->port, &address.any)) {
        query->forbidden = address;
        return false;
    }
    if (query->count < TC_EGRESS_ADDRESSES_MAX)
        query->addresses[query->count++] = address;
    return true;
}

/* One address that is neither public nor named in the grant refuses all of them: a name with some
 * internal addresses is what DNS rebinding looks like. */
static enum tc_egress_resolved take_addresses(const struct tc_egress_config *config,
                                              struct tc_egress_query *query,
                                              const struct ares_addrinfo *found)
{
    for (const struct ares_addrinfo_node *node = found ? found->nodes : NULL; node;
         node = node->ai_next)
        if (!take_address(config, query, node))
            return TC_EGRESS_RESOLVED_FORBIDDEN;
    return query->count ? TC_EGRESS_RESOLVED : TC_EGRESS_RESOLVED_NOWHERE;
}

static void drop_lookup(struct tc_egress_resolver *r, const struct lookup *lookup)
{
    struct lookup **at = &r->lookups;
    while (*at && *at != lookup)
        at = &(*at)->next;
    if (*at)
        *at = lookup->next;
}

static void answered(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    _autofree_ struct lookup *lookup = arg;
    struct tc_egress_proxy *p = lookup->resolver->p;
    (void)timeouts;
    lookup->channel->pending--;
    lookup->resolver->lookup_count--;
    drop_lookup(lookup->resolver, lookup); /* later queries start a new lookup */
    while (lookup->queries) {
        _autofree_ struct tc_egress_query *query = lookup->queries;
        lookup->queries = query->next;
        if (query->done)
            query->done(p, query->ctx, query,
                        take_addresses(&p->config, query, status == ARES_SUCCESS ? found : NULL));
    }
    ares_freeaddrinfo(found);
}

static struct lookup *find_lookup(struct tc_egress_resolver *r, const char *host)
{
    struct lookup *lookup = r->lookups;
    while (lookup && strcmp(lookup->host, host) != 0)
        lookup = lookup->next;
    return lookup;
}

static void start_lookup(struct tc_egress_resolver *r, struct lookup *lookup)
{
    const struct ares_addrinfo_hints hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT};
    lookup->resolver = r;
    lookup->channel = current_channel(r);
    lookup->channel->pending++;
    r->lookup_count++;
    lookup->next = r->lookups;
    r->lookups = lookup;
    ares_getaddrinfo(lookup->channel->ares, lookup->host, NULL, &hints, answered, lookup);
}

void tc_egress_resolve(struct tc_egress_proxy *p, struct tc_egress_query *query)
{
    struct lookup *lookup = find_lookup(p->resolver, query->host);
    if (lookup) {
        query->next = lookup->queries;
        lookup->queries = query;
        return;
    }
    bool room = p->resolver->lookup_count < LOOKUPS_MAX;
    lookup = room ? calloc(1, sizeof(*lookup)) : NULL;
    if (!lookup) {
        query->done(p, query->ctx, query, TC_EGRESS_RESOLVED_NOWHERE);
        free(query);
        return;
    }
    memcpy(lookup->host, query->host, sizeof(lookup->host));
    lookup->queries = query;
    start_lookup(p->resolver, lookup);
}

/* While answered() runs its callbacks, the lookup is in no list; answered() frees the query then.
 */
void tc_egress_resolve_end(struct tc_egress_proxy *p, struct tc_egress_query *query)
{
    struct lookup *lookup = find_lookup(p->resolver, query->host);
    struct tc_egress_query **at = lookup ? &lookup->queries : NULL;
    while (at && *at && *at != query)
        at = &(*at)->next;
    query->done = NULL;
    if (!at || !*at)
        return;
    *at = query->next;
    free(query);
}
