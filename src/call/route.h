/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which backend runs a grant, or why none may. */
#ifndef TC_CALL_ROUTE_H
#define TC_CALL_ROUTE_H

#include "call/engine.h"
#include "plan/backend.h"
#include "policy/policy.h"

/* Refusals that do not depend on the backend: the tool needs a person's approval and nobody has
 * `answered`, or no backend has this combination of layers. */
int tc_route_admit(const struct toolcage_policy *policy, const struct tc_grant *grant,
                   bool answered, struct toolcage_error **err);

/* The planner of the grant's backend, if it can enforce every clause. Where the policy has a
 * fallback, call tc_choose() first. `by_call`: the call, not the policy, chose the backend.
 * `wanted` are features that the call needs in addition to its grant. */
int tc_route(const struct toolcage_policy *policy, const struct tc_grant *grant, bool by_call,
             tc_features wanted, const struct tc_planner **ret, struct toolcage_error **err);

/* Sets the grant's backend to the first one in the policy's order that can enforce the whole
 * grant on this host. The helper probes each backend once in an engine's life.
 * TOOLCAGE_EUNENFORCEABLE with every reason when there is none. */
int tc_choose(struct toolcage_engine *engine, const struct toolcage_policy *policy,
              struct tc_grant *grant, struct toolcage_error **err);

#endif
