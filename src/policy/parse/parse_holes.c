/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks a complete tool: placeholders against arguments. */
#include <stdio.h>
#include <string.h>

#include "policy/parse/parse.h"
#include "policy/parse/template.h"
#include "schema/schema.h"

/* The node with the location of the placeholder, if the file contains the text without escapes. */
static struct tc_node at_hole(const struct tc_node *node, const struct tc_hole *hole)
{
    struct tc_node moved = *node;
    if (node->at.span == node->len + 2) {
        moved.at.column += (uint32_t)(hole->start - node->text) + 1;
        moved.at.span = (uint32_t)(hole->end - hole->start);
    }
    return moved;
}

/* Can every value, or with `spread` every element, become an element of a command? An array
 * without `spread` passes: check_hole() reports it with a better hint. */
static bool is_text(const struct tc_argument *argument, unsigned types, bool spread)
{
    unsigned deep = TC_TYPE_OBJECT | TC_TYPE_ARRAY;
    if (spread)
        return !(argument->element_types & (deep | TC_TYPE_NULL));
    return types == TC_TYPE_ARRAY || !(types & deep);
}

static void check_hole(struct tc_parse *p, const struct tc_spec *spec, const struct tc_node *node,
                       const struct tc_hole *hole, bool in_command)
{
    char hint[300];
    struct tc_node place = at_hole(node, hole);
    const struct tc_argument *argument = tc_spec_argument(spec, hole->name, hole->name_len);
    int len = (int)(hole->name_len > 64 ? 64 : hole->name_len);
    if (!argument) {
        (void)snprintf(
            hint, sizeof(hint),
            "declare arguments.%.*s, or write \"{ %.*s }\" with spaces for literal braces", len,
            hole->name, len, hole->name);
        tc_parse_bad(p, &place, hint, "{%.*s} names no argument", len, hole->name);
        return;
    }
    /* null counts as absent: the element with its placeholder is dropped */
    unsigned types = argument->types & ~(unsigned)TC_TYPE_NULL;
    bool array = types == TC_TYPE_ARRAY;
    if (in_command && !is_text(argument, types, hole->spread && array)) {
        tc_parse_bad(p, &place, "pass all arguments as JSON with \"{*}\", or this one by stdin",
                     "%.*s is not a single value and cannot be used in an element", len,
                     hole->name);
        return;
    }
    bool whole = hole->start == node->text && !*hole->end;
    if (hole->spread && (!in_command || !array || !whole))
        tc_parse_bad(p, &place,
                     array ? "make it a separate element of command" : "write it without the dots",
                     "{%.*s...} expands an array into whole elements of command", len, hole->name);
    else if (!hole->spread && array && in_command) {
        (void)snprintf(hint, sizeof(hint), "write \"{%.*s...}\"", len, hole->name);
        tc_parse_bad(p, &place, hint, "%.*s is an array and cannot be used in one element", len,
                     hole->name);
    }
}

static void check_text(struct tc_parse *p, const struct tc_spec *spec, const struct tc_node *node,
                       bool in_command)
{
    struct tc_hole hole;
    if (node->kind != TC_NODE_STRING)
        return;
    for (const char *at = node->text; tc_hole_find(at, &hole); at = hole.end)
        if (!hole.all)
            check_hole(p, spec, node, &hole, in_command);
}

void tc_parse_tool_finish(struct tc_parse *p, struct tc_spec *spec, const struct tc_node *node)
{
    const struct tc_node *command = tc_node_get(node, "command"),
                         *text = tc_node_get(node, "stdin");
    const struct tc_node *env = tc_node_get(node, "env");
    const struct tc_node *set = env && env->kind == TC_NODE_TABLE ? tc_node_get(env, "set") : NULL;
    if (p->diag.memory)
        return;
    tc_parse_route_finish(p, spec, node);
    tc_parse_url_finish(p, spec, node);
    tc_parse_server_finish(p, node);
    const struct tc_node *schema = tc_node_get(node, "input_schema");
    if (schema && tc_node_get(node, "arguments"))
        tc_parse_bad_key(p, schema, "keep one of the two",
                         "a tool cannot have both input_schema and arguments");
    size_t mark = tc_parse_enter(p, "command");
    for (size_t i = 0; command && command->kind == TC_NODE_ARRAY && i < command->count; i++)
        check_text(p, spec, &command->items[i], true);
    tc_parse_leave(p, mark);
    if (text)
        check_text(p, spec, text, false);
    mark = tc_parse_enter(p, "env.set");
    for (size_t i = 0; set && set->kind == TC_NODE_TABLE && i < set->count; i++)
        check_text(p, spec, &set->items[i], false);
    tc_parse_leave(p, mark);
}
