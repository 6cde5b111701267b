/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Collects changes on a worker thread of the helper, without the separate process of collect.c. */
#ifndef TC_WORKSPACE_INLINE_COLLECT_H
#define TC_WORKSPACE_INLINE_COLLECT_H

#include <stdbool.h>

struct tc_cage;

/* Limits of entries visited, bytes read, and depth: each level keeps a directory open. */
enum {
    TC_INLINE_COLLECT_ENTRIES = 256,
    TC_INLINE_COLLECT_BYTES = 1 << 20,
    TC_INLINE_COLLECT_DEPTH = 24
};

/* On the loop: can the changes of this cage be collected on a worker thread? Then
 * tc_inline_collect_work() and always tc_inline_collect_end() follow, and the cage stays until
 * then. */
bool tc_inline_collect_begin(struct tc_cage *cage);
/* On a worker thread. */
void tc_inline_collect_work(struct tc_cage *cage);
/* On the loop. False: the changes exceeded the limits, and nothing was collected. */
bool tc_inline_collect_end(struct tc_cage *cage);

#endif
