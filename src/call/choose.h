/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Of a grant that may run on one of several backends: which, and why not the others. */
#ifndef TC_CALL_CHOOSE_H
#define TC_CALL_CHOOSE_H

#include "call/engine.h"
#include "policy/policy.h"

/* The first backend in the policy's order that can enforce the whole grant on this machine becomes
 * the grant's. For the machine's part the helper tries each backend once in an engine's life.
 * TOOLCAGE_EUNENFORCEABLE with every reason when there is none. */
int tc_choose(struct toolcage_engine *engine, const struct toolcage_policy *policy,
              struct tc_grant *grant, struct toolcage_error **err);

/* The same for the eye: [{"backend":"…","usable":true,"reason":null},…] into out. */
int tc_choose_explain(struct toolcage_engine *engine, struct tc_grant *grant, struct tc_buf *out,
                      struct toolcage_error **err);
/* Can a call here hold what grants one access? The first backend in the policy's order that
 * enforces the clause on this machine does: {"held":true,"backend":"…","reason":""} into out. */
int tc_choose_held(struct toolcage_engine *engine, const struct tc_grant *grant,
                   enum tc_clause clause, struct tc_buf *out, struct toolcage_error **err);

#endif
