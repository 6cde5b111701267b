/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `unix_sockets`. */
#include <stdio.h>

#include "policy/parse/parse.h"

static const char forms[] = "write unix_sockets = \"none\", \"own\" or an array of paths, as in "
                            "[\"/run/postgresql/.s.PGSQL.5432\"]";

static void read_word(struct tc_parse *p, const struct tc_node *node)
{
    if (tc_streq(node->text, "own"))
        p->spec->unix_sockets = true;
    else if (!tc_streq(node->text, "none"))
        tc_parse_bad(p, node, forms, "unix_sockets must be \"none\", \"own\" or an array of paths");
}

static void read_entry(struct tc_parse *p, struct tc_node *node)
{
    bool word = node->kind == TC_NODE_STRING &&
                (tc_streq(node->text, "none") || tc_streq(node->text, "own"));
    if (word)
        tc_parse_bad(p, node,
                     tc_streq(node->text, "own") ? "remove it: an array includes them" : forms,
                     "\"%s\" is not the path of a socket", node->text);
    else
        tc_parse_path_entry(p, node, TC_ACCESS_CONNECT);
}

void tc_set_unix_sockets(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    if (node->kind == TC_NODE_STRING) {
        read_word(p, node);
        return;
    }
    if (node->kind != TC_NODE_ARRAY || !node->count) {
        tc_parse_bad(p, node, forms, "unix_sockets must be \"none\", \"own\" or an array of paths");
        return;
    }
    p->spec->unix_sockets = true;
    size_t mark = tc_parse_enter(p, "unix_sockets");
    for (size_t i = 0; i < node->count; i++)
        read_entry(p, &node->items[i]);
    tc_parse_leave(p, mark);
    node->unordered = true;
}
