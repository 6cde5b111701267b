/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The JSON Schema keywords of arguments: from the tree to the schema that values are checked
 * against and that models receive.
 *
 * A schema either has a type or only narrows one. A schema with a type describes whole values: it
 * is closed, and absent keywords have their strictest meaning. It gets its type from its own
 * `type`, else from each branch of its anyOf or oneOf, else from the first branch of its allOf. Its
 * other keywords with subschemas only narrow, like everything in them: there, an absent keyword
 * allows any value, as in JSON Schema. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/parse/parse.h"
#include "schema/schema.h"

enum { PATTERN_BYTES_MAX = 64 << 20 };

static void put_keyword(struct tc_parse *p, struct tc_argument *argument, const char *key,
                        json_t *value)
{
    if (!value || json_object_set_new(argument->schema, key, value))
        p->diag.memory = true;
}

/* 1.0 and 1 get the same canonical form. */
static void settle_number(struct tc_node *node)
{
    if (node->kind == TC_NODE_FLOAT && fabs(node->number) < 9007199254740992.0 &&
        node->number == (double)(int64_t)node->number)
        tc_node_become_integer(node, (int64_t)node->number);
}

void tc_set_schema_word(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    char *word = NULL;
    struct tc_key choice = *key;
    choice.offset = 0;
    tc_set_choice(p, &choice, node, (void *)&word);
    if (word)
        put_keyword(p, into, key->name, json_string(word));
    free(word);
}

/* One type, or a list of types. */
void tc_set_type(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (node->kind != TC_NODE_ARRAY) {
        tc_set_schema_word(p, key, node, into);
        return;
    }
    json_t *words = json_array();
    unsigned before = 0, found_type = 0;
    node->unordered = true;
    if (!node->count)
        tc_parse_bad(p, node, "name the types", "type is empty: no value would match");
    for (size_t i = 0; i < node->count && !(before & found_type); i++) {
        struct tc_node word = node->items[i];
        char *found = NULL;
        struct tc_key choice = *key;
        word.key = node->key;
        choice.offset = 0;
        tc_set_choice(p, &choice, &word, (void *)&found);
        before |= found_type;
        found_type = found ? tc_type_bit(found) : 0;
        if (before & found_type)
            tc_parse_bad_in(p, node, &node->items[i], "write it once", "%s is listed twice", found);
        else if (found && json_array_append_new(words, json_string(found)))
            p->diag.memory = true;
        free(found);
    }
    put_keyword(p, into, key->name, words);
}

void tc_set_text(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_STRING))
        put_keyword(p, into, key->name, json_string(node->text));
}

void tc_set_value_of(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    settle_number(node);
    json_t *value = tc_parse_json(p, node);
    if (value)
        put_keyword(p, into, key->name, value);
}

void tc_set_enum(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    if (!node->count)
        tc_parse_bad(p, node, "name the values", "enum is empty: no value would match");
    for (size_t i = 0; i < node->count; i++)
        settle_number(&node->items[i]);
    tc_set_value_of(p, key, node, into);
}

void tc_set_examples(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_ARRAY))
        tc_set_value_of(p, key, node, into);
}

void tc_set_bound(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    bool number =
        node->kind == TC_NODE_INTEGER || (node->kind == TC_NODE_FLOAT && isfinite(node->number));
    if (!number)
        tc_parse_bad(p, node, NULL, "%s must be a number", key->name);
    else
        tc_set_value_of(p, key, node, into);
}

void tc_set_length(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_INTEGER))
        return;
    if (node->integer < 0)
        tc_parse_bad(p, node, NULL, "%s cannot be negative", key->name);
    else
        put_keyword(p, into, key->name, json_integer(node->integer));
}

/* Only integers, because the multiples of a fraction depend on rounding. */
void tc_set_multiple(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    settle_number(node);
    if (!tc_parse_is(p, node, TC_NODE_INTEGER))
        return;
    if (node->integer < 1)
        tc_parse_bad(p, node, NULL, "%s must be more than 0", key->name);
    else
        put_keyword(p, into, key->name, json_integer(node->integer));
}

void tc_set_unique(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_BOOL))
        put_keyword(p, into, key->name, json_boolean(node->integer));
}

/* Takes the pattern. The patterns stay sorted by text. */
static void add_pattern(struct tc_parse *p, size_t place, struct tc_pattern *pattern)
{
    struct tc_argument *argument = p->argument;
    struct tc_pattern **last = TC_PUSH(argument->patterns, argument->pattern_count);
    if (!last) {
        tc_pattern_free(pattern);
        p->diag.memory = true;
        return;
    }
    struct tc_pattern **at = &argument->patterns[place];
    memmove(at + 1, at, (size_t)(last - at) * sizeof(struct tc_pattern *));
    *at = pattern;
}

/* Are the limits kept with one more pattern? False after a finding. */
static bool pattern_fits(struct tc_parse *p, const struct tc_node *node,
                         const struct tc_pattern *pattern)
{
    p->pattern_bytes += tc_pattern_size(pattern);
    if (p->argument->pattern_count == TC_MEMBERS_MAX)
        tc_parse_bad(p, node, "join some with |", "an argument has more than %d patterns",
                     TC_MEMBERS_MAX);
    else if (p->pattern_bytes > PATTERN_BYTES_MAX)
        tc_parse_bad(p, node, "repeat less in them",
                     "the patterns of this policy take more than %d MiB", PATTERN_BYTES_MAX >> 20);
    else
        return true;
    return false;
}

/* Compiles the pattern and stores it in the argument. False after a finding. */
static bool take_pattern(struct tc_parse *p, const struct tc_node *node, const char *text)
{
    struct tc_pattern *pattern = NULL;
    struct tc_complaint c;
    size_t place = 0;
    if (p->pattern_bytes > PATTERN_BYTES_MAX)
        return false;
    if (tc_pattern_find(p->argument->patterns, p->argument->pattern_count, text, &place))
        return true;
    int rc = tc_pattern_new(text, &pattern, &c);
    if (rc == TOOLCAGE_EPOLICY)
        tc_parse_complaint(p, node, &c);
    p->diag.memory |= rc == TOOLCAGE_EMEMORY;
    bool fits = !rc && pattern_fits(p, node, pattern);
    if (fits)
        add_pattern(p, place, TAKE(pattern));
    tc_pattern_free(pattern);
    return fits;
}

void tc_set_pattern(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_STRING) && take_pattern(p, node, node->text))
        put_keyword(p, into, key->name, json_string(node->text));
}

static double number_of(const json_t *schema, const char *keyword)
{
    return json_number_value(json_object_get(schema, keyword));
}

/* Is the lower bound at or above the upper one? At least one of them is exclusive. */
static bool nothing_between(const json_t *schema, const char *low, const char *high)
{
    return json_object_get(schema, low) && json_object_get(schema, high) &&
           number_of(schema, low) >= number_of(schema, high);
}

/* The types to which a keyword applies. */
static unsigned types_of(const char *keyword)
{
    enum { NUMBERS = TC_TYPE_INTEGER | TC_TYPE_NUMBER, NAMES = TC_TYPE_STRING | TC_TYPE_ARRAY };
    static const struct {
        const char *keyword;
        unsigned types;
    } rows[] = {{"minimum", NUMBERS},
                {"maximum", NUMBERS},
                {"exclusiveMinimum", NUMBERS},
                {"exclusiveMaximum", NUMBERS},
                {"multipleOf", TC_TYPE_INTEGER},
                {"minLength", TC_TYPE_STRING},
                {"maxLength", TC_TYPE_STRING},
                {"pattern", TC_TYPE_STRING},
                {"format", TC_TYPE_STRING},
                {"items", TC_TYPE_ARRAY},
                {"prefixItems", TC_TYPE_ARRAY},
                {"minItems", TC_TYPE_ARRAY},
                {"maxItems", TC_TYPE_ARRAY},
                {"uniqueItems", TC_TYPE_ARRAY},
                {"contains", TC_TYPE_ARRAY},
                {"minContains", TC_TYPE_ARRAY},
                {"maxContains", TC_TYPE_ARRAY},
                {"properties", TC_TYPE_OBJECT},
                {"patternProperties", TC_TYPE_OBJECT},
                {"propertyNames", TC_TYPE_OBJECT},
                {"required", TC_TYPE_OBJECT},
                {"dependentRequired", TC_TYPE_OBJECT},
                {"dependentSchemas", TC_TYPE_OBJECT},
                {"minProperties", TC_TYPE_OBJECT},
                {"maxProperties", TC_TYPE_OBJECT},
                {"additionalProperties", TC_TYPE_OBJECT},
                {"read", NAMES},
                {"write", NAMES},
                {"host", NAMES}};
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (tc_streq(rows[i].keyword, keyword))
            return rows[i].types;
    return TC_TYPE_ANY;
}

/* "string or null" */
static void name_types(unsigned types, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; tc_values_type[i] && n < size; i++)
        if (types & tc_type_bit(tc_values_type[i]))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " or " : "", tc_values_type[i]);
}

static void check_values(struct tc_parse *p, const struct tc_node *node, const json_t *schema,
                         unsigned types)
{
    char words[80];
    const json_t *values = json_object_get(schema, node->key);
    bool one = tc_streq(node->key, "const") || tc_streq(node->key, "default");
    name_types(types, words, sizeof(words));
    if (one && values && !tc_type_fits(types, values))
        tc_parse_bad(p, node, NULL, "%s does not fit type \"%s\"", node->key, words);
    if (!tc_streq(node->key, "enum"))
        return;
    for (size_t i = 0; i < json_array_size(values) && i < node->count; i++)
        if (!tc_type_fits(types, json_array_get(values, i)))
            tc_parse_bad_in(p, node, &node->items[i], NULL, "the value does not fit type \"%s\"",
                            words);
}

/* Adds a finding if the keyword applies to none of the types. */
static void check_keyword(struct tc_parse *p, const struct tc_node *node, unsigned types)
{
    char words[80];
    unsigned of = types_of(node->key);
    name_types(types, words, sizeof(words));
    if (!(of & types))
        tc_parse_bad_key(p, node, tc_streq(node->key, "required") ? tc_required_hint : NULL,
                         "%s does not go with type \"%s\"", node->key, words);
}

/* Adds a finding for each pair of bounds that excludes every value. */
static void check_pairs(struct tc_parse *p, const struct tc_node *table, const json_t *schema)
{
    static const char *const pairs[][2] = {{"minimum", "maximum"},
                                           {"minLength", "maxLength"},
                                           {"minItems", "maxItems"},
                                           {"minContains", "maxContains"},
                                           {"minProperties", "maxProperties"}};
    static const char *const open[][2] = {{"exclusiveMinimum", "maximum"},
                                          {"exclusiveMinimum", "exclusiveMaximum"},
                                          {"minimum", "exclusiveMaximum"}};
    for (size_t i = 0; i < TC_COUNT(open); i++) {
        const struct tc_node *node = tc_node_get(table, open[i][1]);
        if (node && nothing_between(schema, open[i][0], open[i][1]))
            tc_parse_bad(p, node, "no value would fit", "there is no number between %s and %s",
                         open[i][0], open[i][1]);
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

/* Writes out the strictest meaning of absent keywords. */
static void fill_schema(struct tc_parse *p, struct tc_argument *argument)
{
    if (!json_object_get(argument->schema, "type"))
        put_keyword(p, argument, "type", json_string("string"));
    unsigned types = tc_schema_types(argument->schema);
    if (types & TC_TYPE_ARRAY && !json_object_get(argument->schema, "items"))
        put_keyword(p, argument, "items",
                    json_object_get(argument->schema, "prefixItems")
                        ? json_false()
                        : json_pack("{s:s}", "type", "string"));
    if (types & TC_TYPE_OBJECT) {
        if (!json_object_get(argument->schema, "properties"))
            put_keyword(p, argument, "properties", json_object());
        if (!json_object_get(argument->schema, "additionalProperties"))
            put_keyword(p, argument, "additionalProperties", json_false());
    }
}

/* Does the schema declare members other than those of `properties`? */
static bool declares_names(const json_t *schema)
{
    return json_is_object(json_object_get(schema, "additionalProperties")) ||
           json_object_get(schema, "patternProperties");
}

/* Adds a finding for each required member that is not declared. */
static void check_required(struct tc_parse *p, const struct tc_node *table,
                           const struct tc_argument *argument)
{
    const struct tc_node *node = tc_node_get(table, "required");
    const json_t *names = json_object_get(argument->schema, "required"),
                 *members = json_object_get(argument->schema, "properties");
    if (!node || declares_names(argument->schema))
        return;
    for (size_t i = 0; i < json_array_size(names) && i < node->count; i++)
        if (!json_object_get(members, json_string_value(json_array_get(names, i))))
            tc_parse_bad_in(p, node, &node->items[i], "declare it in properties, or remove it",
                            "\"%.80s\" is required and not among the properties",
                            json_string_value(json_array_get(names, i)));
}

/* Checks the keywords of a schema with a type against the type. */
static void check_typed(struct tc_parse *p, const struct tc_node *table,
                        struct tc_argument *argument)
{
    bool said = json_object_get(argument->schema, "type");
    unsigned types = said ? tc_schema_types(argument->schema) : TC_TYPE_STRING;
    for (size_t i = 0; types && i < table->count; i++) {
        check_keyword(p, &table->items[i], types);
        check_values(p, &table->items[i], argument->schema, types);
    }
    check_required(p, table, argument);
    fill_schema(p, argument);
}

const char *tc_schema_bearer(const struct tc_node *table)
{
    static const char *const own[] = {"type", "enum", "const"};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (tc_node_get(table, own[i]))
            return NULL;
    for (size_t i = 0; tc_schema_bearers[i]; i++)
        if (tc_node_get(table, tc_schema_bearers[i]))
            return tc_schema_bearers[i];
    return NULL;
}

void tc_parse_schema(struct tc_parse *p, enum tc_scope scope, struct tc_node *table,
                     struct tc_argument *into)
{
    const char *around = p->bearer;
    p->bearer = p->narrows ? NULL : tc_schema_bearer(table);
    tc_parse_table(p, scope, table, into);
    if (!p->diag.memory) {
        check_pairs(p, table, into->schema);
        if (!p->narrows && !p->bearer)
            check_typed(p, table, into);
    }
    p->bearer = around;
}

/* Parses a subschema. NULL after a finding. */
static json_t *read_part(struct tc_parse *p, const char *name, struct tc_node *node, bool narrows)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return NULL;
    struct tc_argument part = {.schema = json_object()};
    bool around = p->narrows;
    size_t mark = tc_parse_enter(p, name);
    p->narrows = around || narrows;
    tc_parse_schema(p, TC_SCOPE_ITEMS, node, &part);
    p->narrows = around;
    tc_parse_leave(p, mark);
    return part.schema;
}

/* `false` allows no further elements or members. */
void tc_set_others(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    bool none = node->kind == TC_NODE_BOOL && !node->integer;
    json_t *items = none ? json_false() : read_part(p, key->name, node, p->bearer);
    if (items)
        put_keyword(p, into, key->name, items);
}

static bool are_parts(struct tc_parse *p, const struct tc_node *node)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return false;
    if (!node->count)
        tc_parse_bad(p, node, "write one or more schemas", "%s is empty", node->key);
    return node->count;
}

/* `bearing`: the number of leading subschemas that have a type (all, one or none). */
static void set_parts(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      struct tc_argument *into, size_t bearing)
{
    char name[24];
    json_t *parts = json_array();
    size_t mark = tc_parse_enter(p, key->name);
    for (size_t i = 0; i < node->count && !p->diag.memory; i++) {
        (void)snprintf(name, sizeof(name), "%zu", i);
        json_t *part = read_part(p, name, &node->items[i], i >= bearing);
        if (part && json_array_append_new(parts, part))
            p->diag.memory = true;
    }
    tc_parse_leave(p, mark);
    put_keyword(p, into, key->name, parts);
}

void tc_set_parts(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    size_t bearing = tc_streq(p->bearer, key->name) ? SIZE_MAX : 0;
    if (are_parts(p, node))
        set_parts(p, key, node, into, bearing);
}

void tc_set_all_of(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (are_parts(p, node))
        set_parts(p, key, node, into, tc_streq(p->bearer, key->name));
}

void tc_set_prefix(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (are_parts(p, node))
        set_parts(p, key, node, into, p->bearer ? 0 : SIZE_MAX);
}

void tc_set_part(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    json_t *part = read_part(p, key->name, node, true);
    if (part)
        put_keyword(p, into, key->name, part);
}

bool tc_parse_members_fit(struct tc_parse *p, const struct tc_node *node)
{
    if (node->count > TC_MEMBERS_MAX)
        tc_parse_bad(p, node, "leave out what no call needs", "%s has more than %d names",
                     node->key, TC_MEMBERS_MAX);
    return node->count <= TC_MEMBERS_MAX;
}

static void set_members(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        struct tc_argument *into, bool narrows)
{
    json_t *members = json_object();
    size_t mark = tc_parse_enter(p, key->name);
    for (size_t i = 0; i < node->count && !p->diag.memory; i++) {
        const char *name = node->items[i].key;
        json_t *member = read_part(p, name, &node->items[i], narrows);
        if (member && json_object_set_new(members, name, member))
            p->diag.memory = true;
    }
    tc_parse_leave(p, mark);
    put_keyword(p, into, key->name, members);
}

void tc_set_properties(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       void *into)
{
    if (tc_parse_is(p, node, TC_NODE_TABLE) && tc_parse_members_fit(p, node))
        set_members(p, key, node, into, p->bearer);
}

void tc_set_dependent(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    if (tc_parse_is(p, node, TC_NODE_TABLE) && tc_parse_members_fit(p, node))
        set_members(p, key, node, into, true);
}

/* patternProperties: the names are patterns. */
void tc_set_named_like(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE) || !tc_parse_members_fit(p, node))
        return;
    bool fine = true;
    size_t mark = tc_parse_enter(p, key->name);
    for (size_t i = 0; fine && i < node->count; i++)
        fine = take_pattern(p, &node->items[i], node->items[i].key);
    tc_parse_leave(p, mark);
    if (fine)
        set_members(p, key, node, into, p->bearer);
}

static json_t *read_names(struct tc_parse *p, struct tc_node *node)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return NULL;
    json_t *names = json_array();
    node->unordered = true;
    for (size_t i = 0; i < node->count; i++)
        if (tc_parse_is(p, &node->items[i], TC_NODE_STRING) &&
            json_array_append_new(names, json_string(node->items[i].text)))
            p->diag.memory = true;
    return names;
}

void tc_set_required(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    json_t *names = read_names(p, node);
    if (names)
        put_keyword(p, into, key->name, names);
}

void tc_set_dependent_required(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                               void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE) || !tc_parse_members_fit(p, node))
        return;
    json_t *all = json_object();
    size_t mark = tc_parse_enter(p, key->name);
    for (size_t i = 0; i < node->count; i++) {
        json_t *names = read_names(p, &node->items[i]);
        if (names && json_object_set_new(all, node->items[i].key, names))
            p->diag.memory = true;
    }
    tc_parse_leave(p, mark);
    put_keyword(p, into, key->name, all);
}

void tc_set_additional(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       void *into)
{
    if (node->kind == TC_NODE_BOOL && node->integer)
        tc_parse_bad(p, node, "write additionalProperties = false, or what each must be",
                     "members that are not declared are always refused");
    else
        tc_set_others(p, key, node, into);
}
