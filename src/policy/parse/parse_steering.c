/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `filesystem.steering`. */
#include "policy/parse/parse.h"

enum { ROWS_MAX = 100 };

static void read_row(struct tc_parse *p, const struct tc_node *node, const struct tc_node *item,
                     struct tc_strv *into)
{
    if (item->kind != TC_NODE_STRING || !tc_steering_row(item->text))
        tc_parse_bad_in(p, node, item, "write it as in \".github\" or \"ci/*.yml\"",
                        "this is neither a name nor names joined by slashes");
    else if (!tc_strv_has(into, item->text) && !tc_strv_add(into, item->text))
        p->diag.memory = true;
}

void tc_parse_rows(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                   struct tc_strv *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    if (node->count > ROWS_MAX)
        tc_parse_bad(p, node, NULL, "%s has more than %d names", key->name, ROWS_MAX);
    for (size_t i = 0; i < node->count && i < ROWS_MAX; i++)
        read_row(p, node, &node->items[i], into);
}

void tc_set_steering_add(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    tc_parse_rows(p, key, node, &((struct tc_spec *)into)->steering.add);
}

void tc_set_steering_remove(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                            void *into)
{
    struct tc_strv *rows = &((struct tc_spec *)into)->steering.remove;
    tc_parse_rows(p, key, node, rows);
    for (size_t i = 0; i < rows->count; i++)
        if (tc_steers(&((struct tc_spec *)into)->steering, "", rows->items[i]) != TC_STEERS_NOT)
            tc_parse_bad(p, node,
                         "remove it; if a tool must write this file, grant exactly "
                         "that file",
                         "%s controls later calls", rows->items[i]);
}

void tc_set_steering(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    const struct tc_steering *said = &((struct tc_spec *)into)->steering;
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, "steering");
    tc_parse_table(p, TC_SCOPE_STEERING, node, into);
    tc_parse_leave(p, mark);
    for (size_t i = 0; i < said->add.count; i++)
        if (tc_strv_has(&said->remove, said->add.items[i]))
            tc_parse_bad_key(p, node, "keep it in one of the two", "%s is added and removed",
                             said->add.items[i]);
}
