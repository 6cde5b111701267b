/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Decisions about staged changes in the audit log. A call whose policy has [audit] leaves the rules
 * of that table with its staged changes; whoever settles these later records under the same rules.
 */
#ifndef TC_CALL_SETTLE_H
#define TC_CALL_SETTLE_H

#include "audit/log.h"
#include "base/clock.h"
#include "base/error.h"
#include "plan/outcome.h"
#include "policy/policy.h"

/* The rules as text for the plan of a call; owned. NULL: out of memory. */
char *tc_settle_rules(const struct tc_audit_rules *rules);

/* A decision about the staged changes of a call. All but `id` and `tool` is borrowed. */
struct tc_settling {
    const char *call, *action;
    const char *seen; /* the digest that a person saw; NULL: it does not matter */
    size_t path_count;
    const char *const *paths;
    _Atomic int64_t *synced_us;     /* of the engine */
    const struct tc_outcome *about; /* from the helper: number, digest, tool and rules */
    char id[TC_ULID_SIZE];
};

/* Records the decision, before anything is done. 0, or a negative code: nothing may be done. */
int tc_settle_record(struct tc_settling *s, struct toolcage_error **err);
/* Records how it ended: with an outcome, or with an error. 0, or a negative code. */
int tc_settle_record_end(const struct tc_settling *s, const struct tc_outcome *outcome,
                         const struct toolcage_error *why, struct toolcage_error **err);

#endif
