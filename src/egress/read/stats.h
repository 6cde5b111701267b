/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Records the proxy's report in the memory shared with the supervisor. */
#ifndef TC_EGRESS_READ_STATS_H
#define TC_EGRESS_READ_STATS_H

#include "egress/egress.h"

/* "host:port", or the host alone for port 0; unprintable bytes become "?". */
void tc_egress_target(const char *host, uint32_t port, char out[TC_EGRESS_TARGET_MAX]);

/* `detail`: the refused address of a name, or the request; NULL: none. */
void tc_egress_deny(struct tc_egress_stats *stats, const char *target, enum tc_egress_reason reason,
                    const char *detail, bool resolve);
/* Counts a connection to the target. NULL: the list is full; only the totals count it. */
struct tc_egress_destination *tc_egress_reached(struct tc_egress_stats *stats, const char *target);
/* Records a failure, which is not a denial: most programs print only "502" for it. The first is
 * kept. */
void tc_egress_unreached(struct tc_egress_stats *stats, const char *target,
                         enum tc_egress_failure failure);
/* Counts relayed bytes; `at` may be NULL. */
void tc_egress_sent(struct tc_egress_stats *stats, struct tc_egress_destination *at, size_t bytes);
void tc_egress_received(struct tc_egress_stats *stats, struct tc_egress_destination *at,
                        size_t bytes);
/* A short text for the reason. */
const char *tc_egress_reason_text(int reason);

/* Writes a refusal as a complete HTTP response that a model can act on. Pure. `what`: a reason or
 * failure; host and why may be NULL. */
void tc_egress_refusal(struct tc_buf *to, const struct tc_egress_config *config, int what,
                       const char *host, unsigned port, const char *why);

#endif
