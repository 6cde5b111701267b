/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which backend runs a grant, or why none may. */
#ifndef TC_CALL_ROUTE_H
#define TC_CALL_ROUTE_H

#include "backend/backend.h"
#include "call/engine.h"
#include "policy/policy.h"

/* The front that the grant names, when it can enforce every clause; with a fallback, the first one
 * that can, which the grant then names. `by_call` says that the call, not the policy, chose the
 * backend; `wanted` is what the call wants beside its grant. */
int tc_route(struct toolcage_engine *engine, const struct toolcage_policy *policy,
             struct tc_grant *grant, bool by_call, tc_features wanted, const struct tc_front **ret,
             struct toolcage_error **err);

#endif
