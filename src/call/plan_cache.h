/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a call was granted, kept for the next that asks for just the same in the same surroundings:
 * it is not resolved and lowered once more. Only of modules whose workers serve many calls, and
 * whose grants have nothing of the host's files in them, so that nothing but what is compared here
 * decides them: policy, words, working directory, environment, ids and the files of the module. */
#ifndef TC_CALL_PLAN_CACHE_H
#define TC_CALL_PLAN_CACHE_H

#include <stdatomic.h>

#include "base/error.h"
#include "plan/plan.h"

struct toolcage_call;
struct tc_kept_plan;
struct tc_modules_known;

enum { TC_PLAN_CACHE_MAX = 4 };

/* An engine's; nothing in it takes a lock. */
struct tc_plan_cache {
    const struct tc_modules_known *modules;
    _Atomic(struct tc_kept_plan *) places[TC_PLAN_CACHE_MAX];
    atomic_uint next;
};

void tc_plan_cache_close(struct tc_plan_cache *cache);

/* Fills the call's grant, if it is known, and *ret with the plan, which is the call's while that
 * lasts; NULL: it is to be resolved. */
int tc_plan_cache_find(struct tc_plan_cache *cache, struct toolcage_call *call,
                       struct tc_plan **ret, struct toolcage_error **err);
/* What it was resolved to is what the next one gets, if nothing else could have decided it. Then
 * the plan is taken. */
void tc_plan_cache_keep(const struct tc_plan_cache *cache, struct toolcage_call *call,
                        struct tc_plan *plan);
/* The call ends, or could not be started: what was kept is the next one's. */
void tc_plan_cache_leave(struct tc_plan_cache *cache, struct toolcage_call *call);

#endif
