/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Copies the egress proxy's records into the outcome: denials and destinations. */
#include <string.h>

#include "cage/cage.h"
#include "cage/proxy.h"
#include "egress/egress.h"
#include "observe/observe.h"
#include "policy/endpoint.h"

static const char *const hints[TC_EGRESS_REASONS] = {
    [TC_EGRESS_OTHER_NAME] = "the connection named a host other than its destination",
    [TC_EGRESS_UNCLEAR] = "the request is ambiguous",
    [TC_EGRESS_TOO_MANY] = "too many concurrent connections; a larger `connections` allows more",
    [TC_EGRESS_NOT_SPOKEN] =
        "its requests are inspected; the program does not trust /etc/toolcage-ca.pem, pins a "
        "certificate, or speaks only HTTP/2",
    [TC_EGRESS_SPENT] = "the call's `transfer` limit is reached; a larger one allows more",
    [TC_EGRESS_NOT_REQUEST] = "the entries of that host allow other methods or paths",
};

/* The proxy parses untrusted data, so its strings are accepted only if they are printable. */
static bool copy_target(char to[TC_EGRESS_TARGET_MAX], const char *from)
{
    memcpy(to, from, TC_EGRESS_TARGET_MAX);
    size_t n = strnlen(to, TC_EGRESS_TARGET_MAX);
    for (size_t i = 0; i < n; i++)
        if (to[i] <= ' ' || to[i] > '~')
            return false;
    return n > 0 && n < TC_EGRESS_TARGET_MAX;
}

/* The entry for the address that the name resolved to; NULL: not known. */
static char *entry_for(const char *target, const struct tc_egress_denial *d)
{
    char address[TC_EGRESS_ADDRESS_MAX];
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    memcpy(address, d->detail, sizeof(address));
    address[sizeof(address) - 1] = '\0';
    if (!tc_host_is_address(address) || tc_endpoint_read(target, &to, &c) != 0)
        return NULL;
    return tc_endpoint_write(address, to.port);
}

/* The request that the record does not have, or NULL. Owned. */
static char *hint_at_request(const struct tc_egress_denial *d)
{
    char request[TC_EGRESS_DETAIL_MAX];
    memcpy(request, d->detail, sizeof(request));
    request[sizeof(request) - 1] = '\0';
    for (const char *c = request; *c; c++)
        if (*c < ' ' || *c > '~')
            return NULL;
    return request[0] ? tc_format("%s: the recorded call made no such request", request) : NULL;
}

static void list_denial(struct tc_cage *cage, const struct tc_egress_denial *d, const char *target,
                        uint32_t times)
{
    bool by_address = d->reason == TC_EGRESS_NOT_PUBLIC;
    bool replayed = d->reason == TC_EGRESS_NOT_KEPT;
    _autofree_ char *entry = by_address ? entry_for(target, d) : NULL;
    _autofree_ char *request = replayed ? hint_at_request(d) : NULL;
    tc_notify_list(cage,
                   &(struct tc_listed){.kind = by_address ? TC_DENIAL_PRIVATE
                                               : replayed ? TC_DENIAL_REPLAYED
                                                          : TC_DENIAL_CONNECT,
                                       .target = target,
                                       .hint = request ? request : hints[d->reason],
                                       .endpoint = entry},
                   times);
}

static void list_denials(struct tc_cage *cage, const struct tc_egress_stats *stats,
                         const struct tc_proxy_mark *since)
{
    uint32_t count = atomic_load(&stats->denial_count);
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DENIALS_MAX; i++) {
        const struct tc_egress_denial *d = &stats->denials[i];
        char target[TC_EGRESS_TARGET_MAX];
        int32_t reason = d->reason;
        uint32_t times = atomic_load(&d->count) - since->counts[i];
        if (!times || reason <= 0 || reason >= TC_EGRESS_REASONS || !copy_target(target, d->target))
            continue;
        list_denial(cage, d, target, times);
    }
    cage->outcome->omitted_denials += atomic_load(&stats->omitted_denials) - since->omitted;
}

static int64_t load_number(const _Atomic uint64_t *value)
{
    uint64_t n = atomic_load(value);
    return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

static bool is_granted(const struct tc_plan *plan, const char *target)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    return tc_endpoint_read(target, &to, &c) == 0 &&
           tc_endpoint_find(plan->net, plan->net_count, to.host, to.port);
}

static void list_destinations(struct tc_cage *cage, const struct tc_egress_stats *stats)
{
    struct tc_outcome *o = cage->outcome;
    uint32_t count = atomic_load(&stats->destination_count);
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DESTINATIONS_MAX; i++) {
        const struct tc_egress_destination *d = &stats->destinations[i];
        char target[TC_EGRESS_TARGET_MAX];
        bool fine = copy_target(target, d->target) && is_granted(cage->plan, target);
        struct tc_destination *to = fine ? TC_PUSH(o->destinations, o->destination_count) : NULL;
        if (to)
            *to = (struct tc_destination){.target = strdup(target),
                                          .connections = atomic_load(&d->connections),
                                          .sent = load_number(&d->sent),
                                          .received = load_number(&d->received)};
    }
    o->sent = load_number(&stats->sent);
    o->received = load_number(&stats->received);
}

/* The reason and a hint. */
static const char *const failures[TC_EGRESS_FAILURES] = {
    [TC_EGRESS_NO_NAME] = "could not be resolved on this host; check the name and the host's "
                          "network, or try again later",
    [TC_EGRESS_NO_ANSWER] = "did not accept the connection; check that the service is up",
    [TC_EGRESS_TOO_LATE] = "did not answer in time; try again later",
    [TC_EGRESS_NO_UPSTREAM] = "needs the upstream proxy, which did not accept the connection; "
                              "check [egress] upstream in the policy",
    [TC_EGRESS_NOT_UPSTREAM] = "was refused by the upstream proxy; ask its operator",
    [TC_EGRESS_NOT_TRUSTED] = "could not be trusted; its server needs a certificate for that name "
                              "from a CA that this host trusts",
};

/* The tool itself only sees "502", so its result names the cause. */
static void note_failure(struct tc_outcome *o, const struct tc_plan *plan,
                         const struct tc_egress_stats *stats)
{
    uint32_t failure = atomic_load(&stats->failure);
    char target[TC_EGRESS_TARGET_MAX];
    if (o->exit_code <= 0 || failure >= TC_EGRESS_FAILURES || !failures[failure] ||
        !copy_target(target, stats->unreached) || !is_granted(plan, target))
        return;
    tc_outcome_note(o, tc_format("network: %s %s", target, failures[failure]));
}

void tc_proxy_report(struct tc_cage *cage, const struct tc_egress_stats *stats)
{
    static const struct tc_proxy_mark start;
    list_denials(cage, stats, &start);
    list_destinations(cage, stats);
    note_failure(cage->outcome, cage->plan, stats);
}

/* The addresses are the helper's, the numbers are the proxy's. */
void tc_proxy_report_ports(struct tc_outcome *o, const struct tc_egress_stats *stats,
                           const struct tc_strv *texts)
{
    for (size_t i = 0; i < texts->count && i < TC_PUBLISH_MAX; i++) {
        const struct tc_egress_destination *d = &stats->published[i];
        struct tc_destination *to = TC_PUSH(o->published, o->published_count);
        if (to)
            *to = (struct tc_destination){.target = strdup(texts->items[i]),
                                          .connections = atomic_load(&d->connections),
                                          .sent = load_number(&d->sent),
                                          .received = load_number(&d->received)};
    }
}

void tc_proxy_read_mark(const struct tc_egress_stats *stats, struct tc_proxy_mark *ret)
{
    uint32_t count = atomic_load(&stats->denial_count);
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DENIALS_MAX; i++)
        ret->counts[i] = atomic_load(&stats->denials[i].count);
    ret->omitted = atomic_load(&stats->omitted_denials);
    ret->sent = load_number(&stats->sent);
    ret->received = load_number(&stats->received);
}

/* The numbers are the proxy's, which is not trusted. */
static int64_t increase(int64_t now, int64_t before)
{
    return now > before ? now - before : 0;
}

void tc_proxy_report_since(struct tc_cage *view, const struct tc_egress_stats *stats,
                           const struct tc_proxy_mark *mark)
{
    list_denials(view, stats, mark);
    view->outcome->sent = increase(load_number(&stats->sent), mark->sent);
    view->outcome->received = increase(load_number(&stats->received), mark->received);
}
