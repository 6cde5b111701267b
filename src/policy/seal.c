/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What must be done again when a resolved grant gets more entries: masks, clauses, order, digest.
 */
#include "policy/policy.h"
#include "policy/resolve.h"

int tc_grant_seal(const struct toolcage_policy *policy, const struct tc_facts *facts,
                  struct tc_grant *grant, struct toolcage_error **err)
{
    static const struct tc_request none = {0};
    struct tc_resolve r = {
        .policy = policy, .request = &none, .facts = facts, .grant = grant, .err = err};
    int rc = tc_resolve_masks(&r);
    if (rc)
        return rc;
    grant->clauses = tc_grant_clauses(grant);
    tc_grant_sort(grant);
    return tc_grant_digest(grant, err);
}
