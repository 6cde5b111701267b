/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A cache of grants and plans. A call with the same request in the same surroundings as an
 * earlier call reuses that call's grant and plan without resolving and lowering them again.
 * Cached are only calls of modules whose workers serve many calls and whose grants expose no
 * host file. Then the cache key decides the result completely: policy, arguments, working
 * directory, environment, ids and the module's files. */
#ifndef TC_CALL_PLAN_CACHE_H
#define TC_CALL_PLAN_CACHE_H

#include <stdatomic.h>

#include "base/error.h"
#include "plan/plan.h"

struct toolcage_call;
struct tc_kept_plan;
struct tc_modules_known;

enum { TC_PLAN_CACHE_MAX = 4 };

/* Owned by an engine; lock-free. */
struct tc_plan_cache {
    const struct tc_modules_known *modules;
    _Atomic(struct tc_kept_plan *) places[TC_PLAN_CACHE_MAX];
    atomic_uint next;
};

void tc_plan_cache_close(struct tc_plan_cache *cache);

/* Fills the call's grant from the cache, and *ret with the cached plan, which the call owns
 * until tc_plan_cache_leave(). NULL: not cached, resolve it. */
int tc_plan_cache_find(struct tc_plan_cache *cache, struct toolcage_call *call,
                       struct tc_plan **ret, struct toolcage_error **err);
/* Caches the call's resolved plan, if the cache key alone decided it. Then the plan is taken. */
void tc_plan_cache_keep(const struct tc_plan_cache *cache, struct toolcage_call *call,
                        struct tc_plan *plan);
/* The call ended or could not be started: its cached plan becomes available to the next call. */
void tc_plan_cache_leave(struct tc_plan_cache *cache, struct toolcage_call *call);

#endif
