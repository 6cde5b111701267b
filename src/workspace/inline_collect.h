/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A gathering on a worker of the helper, in place of the process of its own that collect.c has. */
#ifndef TC_WORKSPACE_INLINE_COLLECT_H
#define TC_WORKSPACE_INLINE_COLLECT_H

#include <stdbool.h>

struct tc_cage;

/* Looked at, read, and gone into: a directory stays open for each level. */
enum {
    TC_INLINE_COLLECT_ENTRIES = 256,
    TC_INLINE_COLLECT_BYTES = 1 << 20,
    TC_INLINE_COLLECT_DEPTH = 24
};

/* On the loop: can the changes of this cage be gathered so? Then the worker does, and then comes
 * the end, whatever the worker found. Until that the cage stays. */
bool tc_inline_collect_begin(struct tc_cage *cage);
/* On a worker. */
void tc_inline_collect_work(struct tc_cage *cage);
/* On the loop. False: it was more than that, and nothing is gathered. */
bool tc_inline_collect_end(struct tc_cage *cage);

#endif
