/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Our PID 1 in the container, and what it is told in gVisor: one message on the report socket,
 * before anything else; its command and environment it has from the runtime there. With a kernel
 * that passes descriptors on it gets orders (cage/orders.h), and nothing from the runtime. */
#ifndef TC_OCI_INNER_H
#define TC_OCI_INNER_H

#include "base/wire.h"

struct tc_inner_limit {
    int64_t resource, value;
};

struct tc_inner {
    struct tc_strv directories; /* working directories to try */
    struct tc_inner_limit *limits;
    size_t limit_count;
    int64_t uid, gid;    /* what the tool sees as its own */
    int64_t left_us;     /* until it ends itself; 0: never */
    int64_t segments;    /* as in the box */
    struct tc_strv deny; /* of system calls, out of the profile */
};

enum { TC_INNER_MAX = 128 << 10 };

void tc_inner_visit(struct tc_wire *w, struct tc_inner *inner);
void tc_inner_done(struct tc_inner *inner);

/* The program itself: the helper's file under its other name. Never returns. */
_Noreturn void tc_inner_main(int argc, char **argv);

#endif
