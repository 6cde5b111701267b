/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The keys that only a server has, for toolcage wrap. */
#include <stdio.h>

#include "policy/parse/parse.h"

static unsigned bit_of(const struct tc_node *item)
{
    for (unsigned i = 0; item->kind == TC_NODE_STRING && tc_values_pass[i]; i++)
        if (tc_streq(tc_values_pass[i], item->text))
            return 1U << i;
    return 0;
}

void tc_set_pass(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_server *server = into;
    char range[200], hint[240];
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    tc_key_range(key, range, sizeof(range));
    (void)snprintf(hint, sizeof(hint), "these can pass: %s", range);
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        if (!bit_of(item))
            tc_parse_bad_in(p, node, item, hint, "\"%.60s\" is not a part of MCP that can pass",
                            item->kind == TC_NODE_STRING ? item->text : "?");
        server->pass |= bit_of(item);
    }
}

/* A task continues after its call's response, when the server of a single call has ended. */
void tc_parse_server_finish(struct tc_parse *p, const struct tc_node *table)
{
    const struct tc_node *pass = tc_node_get(table, "pass"), *each = tc_node_get(table, "per_call");
    bool alone = each && each->kind == TC_NODE_BOOL && each->integer;
    for (size_t i = 0; alone && pass && pass->kind == TC_NODE_ARRAY && i < pass->count; i++)
        if (pass->items[i].kind == TC_NODE_STRING && tc_streq(pass->items[i].text, "tasks"))
            tc_parse_bad_key(p, each, "leave out per_call, or tasks in pass",
                             "a task needs its server after the response to its call, and per_call "
                             "ends it then");
}
