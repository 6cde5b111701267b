/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `review`. */
#include "policy/parse/parse.h"

void tc_set_ignore(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    tc_parse_rows(p, key, node, &((struct tc_spec *)into)->caches);
}

void tc_set_review(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, "review");
    tc_parse_table(p, TC_SCOPE_REVIEW, node, into);
    tc_parse_leave(p, mark);
}
