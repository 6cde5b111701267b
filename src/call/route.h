/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which backend runs a grant, or why none may. */
#ifndef TC_CALL_ROUTE_H
#define TC_CALL_ROUTE_H

#include "call/engine.h"
#include "plan/backend.h"
#include "policy/policy.h"

/* What no backend makes up for: a person is to be asked, or the layers are none that there are. */
int tc_route_admit(const struct toolcage_policy *policy, const struct tc_grant *grant,
                   struct toolcage_error **err);

/* The planner that the grant names, when it can enforce every clause; where the policy has a
 * fallback, tc_choose() says before which that is. `by_call` says that the call, not the policy,
 * chose the backend; `wanted` is what the call wants beside its grant. */
int tc_route(const struct toolcage_policy *policy, const struct tc_grant *grant, bool by_call,
             tc_features wanted, const struct tc_planner **ret, struct toolcage_error **err);

/* The first backend in the policy's order that can enforce the whole grant on this machine becomes
 * the grant's. For the machine's part the helper tries each backend once in an engine's life.
 * TOOLCAGE_EUNENFORCEABLE with every reason when there is none. */
int tc_choose(struct toolcage_engine *engine, const struct toolcage_policy *policy,
              struct tc_grant *grant, struct toolcage_error **err);

#endif
