/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writing down what is told at the end, where the supervisor reads it. */
#ifndef TC_EGRESS_READ_STATS_H
#define TC_EGRESS_READ_STATS_H

#include "egress/egress.h"

/* "host:port", or the host alone for port 0; what is not printable becomes "?". */
void tc_egress_target(const char *host, uint32_t port, char out[TC_EGRESS_TARGET_MAX]);

void tc_egress_deny(struct tc_egress_stats *stats, const char *target, enum tc_egress_reason reason,
                    bool resolve);
/* One connection more to there; NULL when there is no room: it counts in the sums only. */
struct tc_egress_destination *tc_egress_reached(struct tc_egress_stats *stats, const char *target);
/* Not for the policy: most programs tell of it nothing but "502". The first is kept. */
void tc_egress_unreached(struct tc_egress_stats *stats, const char *target,
                         enum tc_egress_failure failure);
/* Bytes that went; `at` may be NULL. */
void tc_egress_sent(struct tc_egress_stats *stats, struct tc_egress_destination *at, size_t bytes);
void tc_egress_received(struct tc_egress_stats *stats, struct tc_egress_destination *at,
                        size_t bytes);
/* Why, in a few words. */
const char *tc_egress_reason_text(int reason);

/* What a client is told that speaks HTTP: an answer that a model can act on. Pure. */

/* A whole response. `what`: a reason or failure; host may be NULL, why may be NULL. */
void tc_egress_refusal(struct tc_buf *to, const struct tc_egress_config *config, int what,
                       const char *host, unsigned port, const char *why);

#endif
