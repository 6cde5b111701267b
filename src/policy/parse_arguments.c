/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `arguments`: the closed input schema and what bounds a value. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/parse.h"
#include "policy/pathrule.h"
#include "policy/template.h"

static void put(struct tc_parse *p, struct tc_argument *argument, const char *key, json_t *value)
{
    if (!value || json_object_set_new(argument->schema, key, value))
        p->diag.memory = true;
}

/* 1.0 and 1 are one number. */
static void settle_number(struct tc_node *node)
{
    if (node->kind == TC_NODE_FLOAT && fabs(node->number) < 9007199254740992.0 &&
        node->number == (double)(int64_t)node->number)
        tc_node_become_integer(node, (int64_t)node->number);
}

static json_t *scalar(struct tc_node *node)
{
    settle_number(node);
    switch (node->kind) {
    case TC_NODE_STRING:
        return json_string(node->text);
    case TC_NODE_INTEGER:
        return json_integer(node->integer);
    case TC_NODE_FLOAT:
        return json_real(node->number);
    case TC_NODE_BOOL:
        return json_boolean(node->integer);
    case TC_NODE_TABLE:
    case TC_NODE_ARRAY:
    case TC_NODE_DATETIME:
        break;
    }
    return NULL;
}

static bool is_scalar(struct tc_parse *p, const struct tc_node *node)
{
    bool fine = node->kind == TC_NODE_STRING || node->kind == TC_NODE_INTEGER ||
                node->kind == TC_NODE_BOOL ||
                (node->kind == TC_NODE_FLOAT && isfinite(node->number));
    if (!fine)
        tc_parse_bad(p, node, NULL, "%s must be a string, a number or true or false",
                     node->key ? node->key : "the element");
    return fine;
}

void tc_set_schema_word(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    char *word = NULL;
    struct tc_key choice = *key;
    choice.offset = 0;
    tc_set_choice(p, &choice, node, (void *)&word);
    if (word)
        put(p, into, key->name, json_string(word));
    free(word);
}

void tc_set_text(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_STRING))
        put(p, into, key->name, json_string(node->text));
}

void tc_set_enum(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    if (!node->count)
        tc_parse_bad(p, node, "name the values", "enum is empty: no value would fit");
    json_t *values = json_array();
    for (size_t i = 0; i < node->count; i++)
        if (is_scalar(p, &node->items[i]) && json_array_append_new(values, scalar(&node->items[i])))
            p->diag.memory = true;
    put(p, into, key->name, values);
}

void tc_set_const(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (is_scalar(p, node))
        put(p, into, key->name, scalar(node));
}

void tc_set_bound(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    bool number =
        node->kind == TC_NODE_INTEGER || (node->kind == TC_NODE_FLOAT && isfinite(node->number));
    if (!number)
        tc_parse_bad(p, node, NULL, "%s must be a number", key->name);
    else
        put(p, into, key->name, scalar(node));
}

void tc_set_length(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_INTEGER))
        return;
    if (node->integer < 0)
        tc_parse_bad(p, node, NULL, "%s cannot be negative", key->name);
    else
        put(p, into, key->name, json_integer(node->integer));
}

/* Of integers alone: what a fraction is a multiple of depends on who rounds. */
void tc_set_multiple(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    settle_number(node);
    if (!tc_parse_is(p, node, TC_NODE_INTEGER))
        return;
    if (node->integer < 1)
        tc_parse_bad(p, node, NULL, "%s must be more than 0", key->name);
    else
        put(p, into, key->name, json_integer(node->integer));
}

void tc_set_unique(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_BOOL))
        put(p, into, key->name, json_boolean(node->integer));
}

static bool has_pattern(const struct tc_argument *argument, const char *text)
{
    for (size_t i = 0; i < argument->pattern_count; i++)
        if (tc_streq(tc_pattern_text(argument->patterns[i]), text))
            return true;
    return false;
}

/* Takes the pattern. */
static void add_pattern(struct tc_parse *p, struct tc_argument *argument,
                        struct tc_pattern *pattern)
{
    struct tc_pattern **place = NULL;
    bool known = has_pattern(argument, tc_pattern_text(pattern));
    if (!known)
        place = TC_PUSH(argument->patterns, argument->pattern_count);
    if (place)
        *place = pattern;
    else
        tc_pattern_free(pattern);
    p->diag.memory |= !known && !place;
}

void tc_set_pattern(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_pattern *pattern = NULL;
    struct tc_complaint c;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    int rc = tc_pattern_new(node->text, &pattern, &c);
    if (rc == TOOLCAGE_EPOLICY)
        tc_parse_complaint(p, node, &c);
    p->diag.memory |= rc == TOOLCAGE_EMEMORY;
    if (rc)
        return;
    put(p, into, key->name, json_string(node->text));
    add_pattern(p, into, pattern);
}

/* What a part of the schema needs is kept with the whole. */
static void adopt_patterns(struct tc_parse *p, struct tc_argument *to, struct tc_argument *from)
{
    for (size_t i = 0; i < from->pattern_count; i++)
        add_pattern(p, to, from->patterns[i]);
    free(from->patterns);
    from->patterns = NULL;
    from->pattern_count = 0;
}

static struct tc_bound *add_bound(struct tc_parse *p, struct tc_argument *argument,
                                  const struct tc_node *node)
{
    struct tc_bound *bound = TC_PUSH(argument->bounds, argument->bound_count);
    if (!bound)
        p->diag.memory = true;
    else
        bound->line = node->at.line;
    return bound;
}

static void set_path_bounds(struct tc_parse *p, struct tc_node *node, struct tc_argument *argument,
                            enum tc_access access)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    if (!node->count)
        tc_parse_bad(p, node, "name the directories", "%s is empty: no path would fit", node->key);
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
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
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

static double number_of(const json_t *schema, const char *keyword)
{
    return json_number_value(json_object_get(schema, keyword));
}

/* The lowest bound that no number passes, met by the highest. */
static bool nothing_between(const json_t *schema, const char *low, const char *high)
{
    return json_object_get(schema, low) && json_object_get(schema, high) &&
           number_of(schema, low) >= number_of(schema, high);
}

static const char *schema_type(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    return type ? type : "string";
}

/* Which types a keyword speaks of; NULL: all. */
static const char *types_of(const char *keyword)
{
    static const struct {
        const char *keyword, *types;
    } rows[] = {{"minimum", "integer number"},
                {"maximum", "integer number"},
                {"exclusiveMinimum", "integer number"},
                {"exclusiveMaximum", "integer number"},
                {"multipleOf", "integer"},
                {"uniqueItems", "array"},
                {"minLength", "string"},
                {"maxLength", "string"},
                {"pattern", "string"},
                {"format", "string"},
                {"items", "array"},
                {"properties", "object"},
                {"required", "object"},
                {"additionalProperties", "object"},
                {"minItems", "array"},
                {"maxItems", "array"},
                {"read", "string array"},
                {"write", "string array"},
                {"host", "string array"}};
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (tc_streq(rows[i].keyword, keyword))
            return rows[i].types;
    return NULL;
}

static bool fits_type(const json_t *value, const char *type)
{
    if (tc_streq(type, "string"))
        return json_is_string(value);
    if (tc_streq(type, "integer"))
        return json_is_integer(value);
    if (tc_streq(type, "number"))
        return json_is_number(value);
    return tc_streq(type, "boolean") && json_is_boolean(value);
}

static void check_values(struct tc_parse *p, const struct tc_node *node, const json_t *schema)
{
    const char *type = schema_type(schema);
    const json_t *values = json_object_get(schema, node->key);
    bool one = tc_streq(node->key, "const") || tc_streq(node->key, "default");
    if (one && values && !fits_type(values, type))
        tc_parse_bad(p, node, NULL, "%s does not fit type \"%s\"", node->key, type);
    if (!tc_streq(node->key, "enum"))
        return;
    for (size_t i = 0; i < json_array_size(values) && i < node->count; i++)
        if (!fits_type(json_array_get(values, i), type))
            tc_parse_bad_in(p, node, &node->items[i], NULL, "the value does not fit type \"%s\"",
                            type);
}

/* Keywords against the type, and pairs of bounds against each other. */
static void check_schema(struct tc_parse *p, const struct tc_node *table, const json_t *schema)
{
    static const char *const pairs[][2] = {
        {"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}};
    static const char *const open[][2] = {{"exclusiveMinimum", "maximum"},
                                          {"exclusiveMinimum", "exclusiveMaximum"},
                                          {"minimum", "exclusiveMaximum"}};
    const char *type = schema_type(schema);
    for (size_t i = 0; i < TC_COUNT(open); i++) {
        const struct tc_node *node = tc_node_get(table, open[i][1]);
        if (node && nothing_between(schema, open[i][0], open[i][1]))
            tc_parse_bad(p, node, "no value would fit", "nothing lies between %s and %s",
                         open[i][0], open[i][1]);
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct tc_node *node = &table->items[i];
        const char *types = types_of(node->key);
        if (types && !strstr(types, type))
            tc_parse_bad_key(p, node, NULL, "%s does not go with type \"%s\"", node->key, type);
        check_values(p, node, schema);
    }
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        const json_t *low = json_object_get(schema, pairs[i][0]),
                     *high = json_object_get(schema, pairs[i][1]);
        const struct tc_node *node = tc_node_get(table, pairs[i][1]);
        if (low && high && node && json_number_value(low) > json_number_value(high))
            tc_parse_bad(p, node, "no value would fit", "%s is less than %s", pairs[i][1],
                         pairs[i][0]);
    }
}

/* What is not said is the narrow thing, and the schema says it. */
static void fill_schema(struct tc_parse *p, struct tc_argument *argument)
{
    const char *type = schema_type(argument->schema);
    if (tc_streq(type, "array") && !json_object_get(argument->schema, "items"))
        put(p, argument, "items", json_pack("{s:s}", "type", "string"));
    if (tc_streq(type, "object")) {
        if (!json_object_get(argument->schema, "properties"))
            put(p, argument, "properties", json_object());
        put(p, argument, "additionalProperties", json_false());
    }
    if (!json_object_get(argument->schema, "type"))
        put(p, argument, "type", json_string("string"));
}

/* Every required member can be given. */
static void check_required(struct tc_parse *p, const struct tc_node *table,
                           const struct tc_argument *argument)
{
    const struct tc_node *node = tc_node_get(table, "required");
    const json_t *names = json_object_get(argument->schema, "required"),
                 *members = json_object_get(argument->schema, "properties");
    for (size_t i = 0; node && i < json_array_size(names) && i < node->count; i++)
        if (!json_object_get(members, json_string_value(json_array_get(names, i))))
            tc_parse_bad_in(p, node, &node->items[i], "declare it in properties, or take it out",
                            "\"%.80s\" is required and not among the properties",
                            json_string_value(json_array_get(names, i)));
}

/* A schema within that of an argument: its object, or NULL after a finding. `whole` keeps its
 * patterns. */
static json_t *read_part(struct tc_parse *p, struct tc_node *node, struct tc_argument *whole)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return NULL;
    struct tc_argument part = {.schema = json_object()};
    size_t mark = tc_parse_enter(p, node->key);
    tc_parse_table(p, TC_SCOPE_ITEMS, node, &part);
    if (!p->diag.memory) {
        check_schema(p, node, part.schema);
        check_required(p, node, &part);
        fill_schema(p, &part);
    }
    tc_parse_leave(p, mark);
    adopt_patterns(p, whole, &part);
    return part.schema;
}

void tc_set_items(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    json_t *items = read_part(p, node, into);
    if (items)
        put(p, into, key->name, items);
}

bool tc_parse_members_fit(struct tc_parse *p, const struct tc_node *node)
{
    if (node->count > TC_MEMBERS_MAX)
        tc_parse_bad(p, node, "leave out what no call needs", "%s has more than %d names",
                     node->key, TC_MEMBERS_MAX);
    return node->count <= TC_MEMBERS_MAX;
}

void tc_set_properties(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE) || !tc_parse_members_fit(p, node))
        return;
    json_t *members = json_object();
    size_t mark = tc_parse_enter(p, key->name);
    for (size_t i = 0; i < node->count && !p->diag.memory; i++) {
        json_t *member = read_part(p, &node->items[i], into);
        if (member && json_object_set_new(members, node->items[i].key, member))
            p->diag.memory = true;
    }
    tc_parse_leave(p, mark);
    put(p, into, key->name, members);
}

void tc_set_required(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return;
    json_t *names = json_array();
    node->unordered = true;
    for (size_t i = 0; i < node->count; i++)
        if (tc_parse_is(p, &node->items[i], TC_NODE_STRING) &&
            json_array_append_new(names, json_string(node->items[i].text)))
            p->diag.memory = true;
    put(p, into, key->name, names);
}

void tc_set_closed(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_BOOL) && node->integer)
        tc_parse_bad(p, node, "write additionalProperties = false",
                     "members that are not declared are always refused");
}

static void complete_schema(struct tc_parse *p, const struct tc_node *node,
                            struct tc_argument *argument)
{
    const char *type = schema_type(argument->schema);
    bool array = tc_streq(type, "array");
    fill_schema(p, argument);
    if (array && argument->bound_count &&
        !tc_streq(schema_type(json_object_get(argument->schema, "items")), "string"))
        tc_parse_bad_key(p, node, NULL, "read, write and host need strings as elements");
    bool paths = false, hosts = false;
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
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    struct tc_argument *argument = TC_PUSH(spec->arguments, spec->argument_count);
    if (!argument) {
        p->diag.memory = true;
        return;
    }
    argument->name = tc_parse_copy(p, node->key);
    argument->line = node->key_at.line;
    argument->schema = json_object();
    size_t mark = tc_parse_enter(p, node->key);
    tc_parse_table(p, TC_SCOPE_ARGUMENT, node, argument);
    if (!p->diag.memory) {
        check_schema(p, node, argument->schema);
        check_required(p, node, argument);
    }
    tc_parse_leave(p, mark);
    if (!p->diag.memory)
        complete_schema(p, node, argument);
}

void tc_set_arguments(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, "arguments");
    for (size_t i = 0; i < node->count; i++)
        tc_parse_argument(p, &node->items[i], into);
    tc_parse_leave(p, mark);
}
