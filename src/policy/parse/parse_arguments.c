/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `arguments`: the closed input schema, and the bounds of values. */
#include <string.h>

#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/parse/parse.h"
#include "policy/parse/template.h"
#include "policy/pathrule.h"
#include "schema/schema.h"

static struct tc_bound *add_bound(struct tc_parse *p, struct tc_argument *argument,
                                  const struct tc_node *node)
{
    struct tc_bound *bound = TC_PARSE_PUSH(p, argument->bounds, argument->bound_count);
    if (bound)
        bound->line = node->at.line;
    return bound;
}

static void set_path_bounds(struct tc_parse *p, struct tc_node *node, struct tc_argument *argument,
                            enum tc_access access)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return;
    node->unordered = true;
    if (!node->count)
        tc_parse_bad(p, node, "name the directories", "%s is empty: no path would match",
                     node->key);
    for (size_t i = 0; i < node->count; i++) {
        struct tc_complaint c;
        _autofree_ char *path = tc_parse_path(p, &node->items[i]);
        if (!path)
            continue;
        tc_parse_path_settle(p, &node->items[i], "");
        const char *from = tc_path_within(TC_WORKSPACE, path) ? NULL : path;
        if (!tc_path_grantable(path, from, access, &c)) {
            tc_parse_complaint(p, &node->items[i], &c);
            continue;
        }
        struct tc_bound *bound = add_bound(p, argument, &node->items[i]);
        if (bound) {
            bound->access = access;
            bound->path = TAKE(path);
        }
    }
}

void tc_set_read_bounds(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    set_path_bounds(p, node, into, TC_ACCESS_READ);
}

void tc_set_write_bounds(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    set_path_bounds(p, node, into, TC_ACCESS_WRITE);
}

void tc_set_host_bounds(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return;
    node->unordered = true;
    for (size_t i = 0; i < node->count; i++) {
        struct tc_node *item = &node->items[i];
        struct tc_net_entry entry = {0};
        struct tc_complaint c;
        if (!tc_parse_is(p, item, TC_NODE_STRING))
            continue;
        int rc = tc_endpoint_read(item->text, &entry, &c);
        if (rc == TOOLCAGE_EPOLICY)
            tc_parse_complaint(p, item, &c);
        p->diag.memory |= rc == TOOLCAGE_EMEMORY;
        struct tc_bound *bound = rc ? NULL : add_bound(p, into, item);
        if (!bound) {
            tc_net_entry_done(&entry);
            continue;
        }
        bound->host = entry;
        _autofree_ char *text = tc_endpoint_write(entry.host, entry.port);
        if (!text || !tc_node_become_string(item, text))
            p->diag.memory = true;
    }
}

/* A bound applies to a string, or to an array of strings, not to deeper values. */
static bool can_be_bound(const struct tc_argument *argument)
{
    const unsigned texts = TC_TYPE_STRING | TC_TYPE_ARRAY;
    unsigned types = argument->types & ~(unsigned)TC_TYPE_NULL;
    if (!json_object_get(argument->schema, "type"))
        return false;
    if (!(types & texts))
        return true; /* check_keyword() has reported that the keyword does not fit the type */
    if (types & ~texts)
        return false;
    return !(types & TC_TYPE_ARRAY) || argument->element_types == TC_TYPE_STRING;
}

static void check_bounds(struct tc_parse *p, const struct tc_node *node,
                         const struct tc_argument *argument)
{
    bool paths = false, hosts = false;
    if (argument->bound_count && !can_be_bound(argument))
        tc_parse_bad_key(p, node, "write type = \"string\", or an array of strings",
                         "read, write and host need a string, or strings as elements");
    for (size_t i = 0; i < argument->bound_count; i++) {
        paths |= argument->bounds[i].path != NULL;
        hosts |= argument->bounds[i].path == NULL;
    }
    if (paths && hosts)
        tc_parse_bad_key(p, node, NULL, "a value is a path or a host, not both");
}

void tc_parse_argument(struct tc_parse *p, struct tc_node *node, struct tc_spec *spec)
{
    if (!tc_hole_name_fine(node->key)) {
        tc_parse_bad_key(
            p, node, "names are letters, digits, _ and -, at most 64, starting with a letter or _",
            "\"%.80s\" is not an argument name", node->key);
        return;
    }
    if (node->kind != TC_NODE_TABLE) {
        char hint[160];
        (void)snprintf(hint, sizeof(hint), "write arguments.%s = { type = \"string\" }", node->key);
        tc_parse_bad(p, node, hint, "%s must be a table, not %s", node->key,
                     tc_node_kind_name(node->kind));
        return;
    }
    struct tc_argument *argument = TC_PARSE_PUSH(p, spec->arguments, spec->argument_count);
    if (!argument)
        return;
    argument->name = tc_parse_copy(p, node->key);
    argument->line = node->key_at.line;
    argument->schema = json_object();
    size_t mark = tc_parse_enter(p, node->key);
    p->argument = argument;
    tc_parse_schema(p, TC_SCOPE_ARGUMENT, node, argument);
    p->argument = NULL;
    tc_parse_leave(p, mark);
    argument->types = tc_schema_types(argument->schema);
    argument->element_types = tc_schema_element_types(argument->schema);
    if (!p->diag.memory)
        check_bounds(p, node, argument);
}

void tc_set_arguments(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE) || !tc_parse_members_fit(p, node))
        return;
    size_t mark = tc_parse_enter(p, "arguments");
    for (size_t i = 0; i < node->count; i++)
        tc_parse_argument(p, &node->items[i], into);
    tc_parse_leave(p, mark);
}
