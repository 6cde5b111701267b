/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that the library hands to a worker itself: one that the helper has lent (backend/loan.h),
 * to calls that are granted just what the one before was. The helper goes on watching the worker,
 * and whatever is not plain (an end that it makes, something left in /tmp) is told by it. A worker
 * serves one call at a time; engines of several threads have several. */
#ifndef TC_CALL_DIRECT_H
#define TC_CALL_DIRECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"

struct toolcage_call;
struct tc_direct;

enum { TC_DIRECT_MAX = 4, TC_DIRECT_REFUSED = 8 };

/* An engine's; nothing in it takes a lock. */
struct tc_direct_shelf {
    _Atomic(struct tc_direct *) places[TC_DIRECT_MAX];
    /* digests of what had better be left to the helper, by turns */
    _Atomic uint64_t refused[TC_DIRECT_REFUSED];
    atomic_uint next;
    _Atomic int64_t calls; /* that were to be served; each has its number, whichever its worker */
};

/* The last user of the engine lets go. In a fork of it the workers stay the other's. */
void tc_direct_close(struct tc_direct_shelf *shelf, bool forked);

/* Begins the call with a worker, if there is one for it. Where it could have one but there is none,
 * call->key says what it is known by. */
bool tc_direct_begin(struct toolcage_call *call, struct tc_plan *plan);
/* Shall the helper lend the worker that serves this call? */
bool tc_direct_asks(const struct toolcage_call *call);
/* It has, with the outcome of the call (copied). The descriptors are taken. */
void tc_direct_keep(struct toolcage_call *call, const char *outcome, size_t length, const int *fds,
                    size_t count);
/* Until something happens or the time is over: 1 when the call has ended, 0, or a code. */
int tc_direct_turn(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err);
/* What only the library knows of such a call goes into what the helper says of its end. */
void tc_direct_fill(struct toolcage_call *call, struct tc_outcome *outcome);
/* Readable when tc_direct_turn() has something to do; made at the first question. */
int tc_direct_fd(struct toolcage_call *call);
/* The call has ended, whoever served it: from now on what tc_direct_fd() gave is readable. */
void tc_direct_over(struct toolcage_call *call);
/* The call ends, and its worker with it. */
void tc_direct_drop(struct toolcage_call *call);

#endif
