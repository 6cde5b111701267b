/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/stats.h"

#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "policy/endpoint.h"

void tc_egress_target(const char *host, uint32_t port, char out[TC_EGRESS_TARGET_MAX])
{
    if (port)
        tc_endpoint_format(out, TC_EGRESS_TARGET_MAX, host, port);
    else
        (void)snprintf(out, TC_EGRESS_TARGET_MAX, "%.256s", host);
    for (char *c = out; *c; c++)
        if (*c <= 0x20 || *c >= 0x7f)
            *c = '?';
}

void tc_egress_deny(struct tc_egress_stats *stats, const char *target, enum tc_egress_reason reason,
                    const char *detail, bool resolve)
{
    uint32_t count = atomic_load(&stats->denial_count);
    char shown[TC_EGRESS_DETAIL_MAX];
    tc_strcopy(shown, sizeof(shown), detail ? detail : "");
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DENIALS_MAX; i++) {
        struct tc_egress_denial *denial = &stats->denials[i];
        if (denial->reason == (int32_t)reason && denial->resolve == resolve &&
            strcmp(denial->target, target) == 0 &&
            (reason != TC_EGRESS_NOT_KEPT || strcmp(denial->detail, shown) == 0)) {
            atomic_fetch_add(&denial->count, 1);
            return;
        }
    }
    if (count >= TC_EGRESS_DENIALS_MAX) {
        atomic_fetch_add(&stats->omitted_denials, 1);
        return;
    }
    struct tc_egress_denial *denial = &stats->denials[count];
    tc_strcopy(denial->target, sizeof(denial->target), target);
    tc_strcopy(denial->detail, sizeof(denial->detail), shown);
    denial->reason = (int32_t)reason;
    denial->resolve = resolve;
    atomic_store(&denial->count, 1);
    atomic_store(&stats->denial_count, count + 1); /* last: the record is complete */
}

struct tc_egress_destination *tc_egress_reached(struct tc_egress_stats *stats, const char *target)
{
    uint32_t count = atomic_load(&stats->destination_count);
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DESTINATIONS_MAX; i++)
        if (strcmp(stats->destinations[i].target, target) == 0) {
            atomic_fetch_add(&stats->destinations[i].connections, 1);
            return &stats->destinations[i];
        }
    if (count >= TC_EGRESS_DESTINATIONS_MAX) {
        atomic_fetch_add(&stats->omitted_destinations, 1);
        return NULL;
    }
    struct tc_egress_destination *at = &stats->destinations[count];
    tc_strcopy(at->target, sizeof(at->target), target);
    atomic_store(&at->connections, 1);
    atomic_store(&stats->destination_count, count + 1);
    return at;
}

void tc_egress_unreached(struct tc_egress_stats *stats, const char *target,
                         enum tc_egress_failure failure)
{
    if (atomic_load(&stats->failure))
        return;
    tc_strcopy(stats->unreached, sizeof(stats->unreached), target);
    atomic_store(&stats->failure, failure);
}

void tc_egress_sent(struct tc_egress_stats *stats, struct tc_egress_destination *at, size_t bytes)
{
    atomic_fetch_add(&stats->sent, bytes);
    if (at)
        atomic_fetch_add(&at->sent, bytes);
}

void tc_egress_received(struct tc_egress_stats *stats, struct tc_egress_destination *at,
                        size_t bytes)
{
    atomic_fetch_add(&stats->received, bytes);
    if (at)
        atomic_fetch_add(&at->received, bytes);
}

const char *tc_egress_reason_text(int reason)
{
    static const char *const words[TC_EGRESS_REASONS] = {
        [TC_EGRESS_NOT_NAMED] = "no entry of the allowlist covers it",
        [TC_EGRESS_NOT_PUBLIC] = "it resolves to an address that is not public and not named",
        [TC_EGRESS_OTHER_NAME] = "the connection named another host",
        [TC_EGRESS_UNCLEAR] = "the request is ambiguous",
        [TC_EGRESS_TOO_MANY] = "too many concurrent connections",
        [TC_EGRESS_NOT_REQUEST] = "its entries allow other methods or paths",
        [TC_EGRESS_SPENT] = "the `transfer` limit is reached",
        [TC_EGRESS_NOT_KEPT] = "the recorded call made no such request",
        [TC_EGRESS_NOT_SPOKEN] = "the client broke off a TLS connection that is inspected",
    };
    return reason > 0 && reason < TC_EGRESS_REASONS && words[reason] ? words[reason] : "refused";
}
