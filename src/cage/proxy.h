/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The way out of one cage, as its supervisor sees it: a process of toolcage-egress for this cage
 * alone. It runs outside of the cage as an unprivileged user, is handed the sockets that listen in
 * the cage's network namespace, and decides by the entries of the plan. While it does not run, the
 * cage has no network. */
#ifndef TC_CAGE_PROXY_H
#define TC_CAGE_PROXY_H

#include "plan/backend.h"

/* What is wrong with the program toolcage-egress that it needs ("is not there"); NULL: nothing. */
const char *tc_proxy_lacks(void);
/* Does it look into connections? */
bool tc_plan_inspects(const struct tc_plan *plan);
/* Starts it and fills in the network of the init config; nothing where the plan has none. 0, or -1.
 */
int tc_proxy_start(struct tc_cage *cage);
/* Hands over listeners, of which the first has this number in the init config; closes them. 0, or
 * -1. */
int tc_proxy_listen(struct tc_cage *cage, const int *fds, size_t count, int32_t first);
/* Waits until it is ready, and adds the certificate of its authority. 0, or -1. */
int tc_proxy_authority(struct tc_cage *cage, struct tc_buf *to);
/* What to wait for beside the report socket; -1: nothing. */
int tc_proxy_fd(const struct tc_cage *cage);
/* It said something, or ended: then the call fails. 0, or -1. */
int tc_proxy_event(struct tc_cage *cage);
/* The tool has ended: what was refused, and how much went through, into the outcome. */
void tc_proxy_finish(struct tc_cage *cage);
/* More was wanted than the grant's `transfer`. */
bool tc_proxy_spent(const struct tc_cage *cage);
struct tc_egress_stats;
/* proxy_report.c: the same out of what the proxy has written down; its words are taken as far as
 * they can be true. */
void tc_proxy_report(struct tc_cage *cage, const struct tc_egress_stats *stats);
/* The tool is about to be killed: its connections break before it could seem to have ended them. */
void tc_proxy_kill(struct tc_cage *cage);
/* Ends it; fine when there is none. Its id is given back once it has gone. */
void tc_proxy_end(struct tc_cage *cage);
/* Those that have gone since, or should have. When to look again; 0: there are none. */
int64_t tc_proxy_tick(int64_t now_us);
/* Once, when the helper ends: waits for those that still deliver what their tool sent. */
void tc_proxy_close(void);

#endif
