/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table [audit]: the log of all calls. */
#include "policy/parse/parse.h"

void tc_set_anchor(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct toolcage_policy *policy = into;
    free(policy->audit.anchor);
    policy->audit.anchor = tc_parse_path(p, node);
    if (policy->audit.anchor)
        tc_parse_path_settle(p, node, "");
}

void tc_set_audit(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct toolcage_policy *policy = p->policy;
    policy->audit.on = tc_parse_inner(p, key->inner, node, policy);
    policy->audit.line = node->at.line;
    if (policy->audit.record && policy->audit.arguments)
        tc_parse_bad_key(p, node, "leave out arguments, or record = \"inputs\"",
                         "a call whose arguments are recorded as digests cannot be replayed");
}
