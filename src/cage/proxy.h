/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The egress proxy of one cage, from the helper's side: a process of toolcage-egress per cage. The
 * proxy runs outside the cage as an unprivileged user. It receives the listening sockets of the
 * cage's network namespace and allows connections by the plan's entries. Without the proxy the cage
 * has no network. */
#ifndef TC_CAGE_PROXY_H
#define TC_CAGE_PROXY_H

#include "egress/egress.h"
#include "plan/backend.h"

/* Why the program toolcage-egress cannot be used ("is not there"); NULL: it can. */
const char *tc_proxy_lacks(void);
/* Does the plan have entries with inspection? */
bool tc_plan_inspects(const struct tc_plan *plan);
/* Starts the proxy and sets the network of the init config; does nothing if the plan has no
 * network and publishes no port. 0, or -1. */
int tc_proxy_start(struct tc_cage *cage);
/* Of a live session that has started: lets PID 1 make sockets for published ports. 0, or -1. */
int tc_proxy_lend(struct tc_cage *cage);
/* Passes listeners to the proxy and closes them; `first` is the index of the first in the init
 * config. 0, or -1. */
int tc_proxy_listen(struct tc_cage *cage, const int *fds, size_t count, int32_t first);
/* Waits until the proxy is ready, and appends its CA certificate. 0, or -1. */
int tc_proxy_authority(struct tc_cage *cage, struct tc_buf *to);
/* The fd to poll in addition to the report socket; -1: none. */
int tc_proxy_fd(const struct tc_cage *cage);
/* The proxy sent a message or ended: the call fails if the proxy ended. 0, or -1. */
int tc_proxy_event(struct tc_cage *cage);
/* After the tool's end: records denials and transferred bytes in the outcome. */
void tc_proxy_finish(struct tc_cage *cage);
/* The grant's `transfer` limit was exceeded. */
bool tc_proxy_spent(const struct tc_cage *cage);

/* The proxy's records at one time, for the commands of a live session. */
struct tc_proxy_mark {
    uint32_t counts[TC_EGRESS_DENIALS_MAX]; /* of the denials */
    uint32_t omitted;
    int64_t sent, received;
};
/* Marks the state now; without a proxy the mark is empty. */
void tc_proxy_mark(const struct tc_cage *cage, struct tc_proxy_mark *ret);
/* Adds what was recorded since the mark to another outcome: denials, and bytes. */
void tc_proxy_since(const struct tc_cage *cage, const struct tc_proxy_mark *mark,
                    struct tc_outcome *to);
/* proxy_report.c: both, for the records. */
void tc_proxy_read_mark(const struct tc_egress_stats *stats, struct tc_proxy_mark *ret);
void tc_proxy_report_since(struct tc_cage *view, const struct tc_egress_stats *stats,
                           const struct tc_proxy_mark *mark);
/* proxy_report.c: does so from the proxy's shared record, which is untrusted and therefore
 * validated. */
void tc_proxy_report(struct tc_cage *cage, const struct tc_egress_stats *stats);
/* Adds the published ports; `texts`: policy/publish.h. */
void tc_proxy_report_ports(struct tc_outcome *to, const struct tc_egress_stats *stats,
                           const struct tc_strv *texts);
/* Before the tool is killed: kills the proxy, so that the tool's connections break and do not
 * appear closed by the tool. */
void tc_proxy_kill(struct tc_cage *cage);
/* Ends the proxy; fine when there is none. Its id is released once the process has been reaped. */
void tc_proxy_end(struct tc_cage *cage);
/* Reaps ended proxies, and kills those past their time limit. When to call again; 0: none are
 * left. */
int64_t tc_proxy_tick(int64_t now_us);
/* At the helper's exit: waits for proxies that still deliver data of their tools. */
void tc_proxy_close(void);

#endif
