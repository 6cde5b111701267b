/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a call was granted, kept for the next that asks for just the same in the same surroundings:
 * it is not resolved and lowered once more. Only of calls that a worker on loan serves (direct.h),
 * whose grants have nothing of the host's files in them, so that nothing but what is compared here
 * decides them: policy, words, working directory, environment, ids, the files of the module, and
 * the record of what tools could write. */
#ifndef TC_CALL_AGAIN_H
#define TC_CALL_AGAIN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "backend/outcome.h"
#include "backend/plan.h"
#include "base/error.h"

struct toolcage_call;
struct tc_again;

enum { TC_AGAIN_MAX = 4 };

/* An engine's; nothing in it takes a lock. */
struct tc_again_shelf {
    _Atomic(struct tc_again *) places[TC_AGAIN_MAX];
    atomic_uint next;
};

void tc_again_close(struct tc_again_shelf *shelf);

/* Fills the call's grant, if it is known, and *ret with the plan, which is the call's while that
 * lasts; NULL: it is to be resolved. */
int tc_again_find(struct toolcage_call *call, struct tc_plan **ret, struct toolcage_error **err);
/* Room for what its plan is known by (direct.h), which is the same each time; NULL: there is none.
 */
struct tc_buf *tc_again_key(const struct toolcage_call *call);
/* Reads an outcome that the call before may have had as well, which is the same each time, too. As
 * tc_outcome_parse(); what is only of that call is to be dropped (tc_outcome_drop_call). */
int tc_again_outcome(struct toolcage_call *call, const struct tc_buf *told, struct tc_outcome *ret,
                     struct toolcage_error **err);
/* It is resolved anew all the same. */
void tc_again_forget(struct toolcage_call *call);
/* What it came to is what the next one gets, if nothing else could have decided it. Then the plan
 * is taken. */
void tc_again_keep(struct toolcage_call *call, struct tc_plan *plan);
/* The call ends. */
void tc_again_leave(struct toolcage_call *call);

#endif
