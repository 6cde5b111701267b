/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The root for the next call of a worker that serves many, where a grant shows nothing of the host:
 * a copy of the prepared root with an empty /tmp in it, made when a call has its answer. One in
 * which a call left nothing, not even a time, is the next call's, too. */
#ifndef TC_CAGE_READY_ROOT_H
#define TC_CAGE_READY_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "state/untouched.h"

struct tc_ready_root {
    int root, tmp;            /* -1: there is none */
    uint64_t serial;          /* of the prepared root */
    struct tc_untouched rest; /* /tmp, when it was made */
    bool given;               /* to the call that is served */
};

#define TC_READY_ROOT_NONE ((struct tc_ready_root){.root = -1, .tmp = -1})

/* Replaces what there is; without memory there is none. */
void tc_ready_root_make(struct tc_ready_root *r, uint64_t serial, const struct tc_limits *limits);
/* Another descriptor of its /tmp, for a call; -1: none. */
int tc_ready_root_give(struct tc_ready_root *r);
void tc_ready_root_drop(struct tc_ready_root *r);

#endif
