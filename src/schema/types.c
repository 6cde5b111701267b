/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The types that values of a schema can have. */
#include "base/cleanup.h"
#include "base/strv.h"
#include "schema/schema.h"

const char *const tc_schema_bearers[] = {"anyOf", "oneOf", "allOf", NULL};

unsigned tc_type_bit(const char *word)
{
    static const struct {
        const char *word;
        unsigned bit;
    } rows[] = {{"string", TC_TYPE_STRING}, {"integer", TC_TYPE_INTEGER},
                {"number", TC_TYPE_NUMBER}, {"boolean", TC_TYPE_BOOLEAN},
                {"null", TC_TYPE_NULL},     {"array", TC_TYPE_ARRAY},
                {"object", TC_TYPE_OBJECT}};
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (tc_streq(rows[i].word, word))
            return rows[i].bit;
    return 0;
}

bool tc_json_is_whole(const json_t *value)
{
    double number = json_real_value(value);
    bool large = number >= 0x1p53 || number <= -0x1p53;
    return json_is_integer(value) ||
           (json_is_real(value) && (large || (double)(json_int_t)number == number));
}

/* All types of the value: an integer is a number, too, and 1.0 is an integer. */
static unsigned types_of_value(const json_t *value)
{
    static const unsigned rows[] = {
        [JSON_OBJECT] = TC_TYPE_OBJECT, [JSON_ARRAY] = TC_TYPE_ARRAY,
        [JSON_STRING] = TC_TYPE_STRING, [JSON_INTEGER] = TC_TYPE_INTEGER | TC_TYPE_NUMBER,
        [JSON_REAL] = TC_TYPE_NUMBER,   [JSON_TRUE] = TC_TYPE_BOOLEAN,
        [JSON_FALSE] = TC_TYPE_BOOLEAN, [JSON_NULL] = TC_TYPE_NULL};
    return rows[json_typeof(value)] | (tc_json_is_whole(value) ? TC_TYPE_INTEGER : 0);
}

bool tc_type_fits(unsigned types, const json_t *value)
{
    return types & types_of_value(value);
}

static unsigned said_types(const json_t *type)
{
    unsigned types = json_is_string(type) ? tc_type_bit(json_string_value(type)) : 0;
    for (size_t i = 0; i < json_array_size(type); i++)
        types |= tc_type_bit(json_string_value(json_array_get(type, i)));
    return types;
}

static unsigned listed_types(const json_t *schema)
{
    const json_t *one = json_object_get(schema, "const"), *values = json_object_get(schema, "enum");
    unsigned types = one ? types_of_value(one) : 0;
    for (size_t i = 0; !one && i < json_array_size(values); i++)
        types |= types_of_value(json_array_get(values, i));
    return types;
}

/* Combines the types of the branches that determine the schema's type. */
static unsigned ask_branches(const json_t *schema, unsigned (*ask)(const json_t *))
{
    for (size_t w = 0; tc_schema_bearers[w]; w++) {
        const json_t *branches = json_object_get(schema, tc_schema_bearers[w]);
        bool first = tc_streq(tc_schema_bearers[w], "allOf");
        unsigned types = 0;
        for (size_t i = 0; i < json_array_size(branches) && !(first && i); i++)
            types |= ask(json_array_get(branches, i));
        if (branches)
            return types;
    }
    return TC_TYPE_ANY;
}

unsigned tc_schema_own_types(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    if (type)
        return said_types(type);
    bool lists = json_object_get(schema, "const") || json_object_get(schema, "enum");
    return lists ? listed_types(schema) : TC_TYPE_ANY;
}

unsigned tc_schema_types(const json_t *schema)
{
    bool own = json_object_get(schema, "type") || json_object_get(schema, "const") ||
               json_object_get(schema, "enum");
    return own ? tc_schema_own_types(schema) : ask_branches(schema, tc_schema_types);
}

unsigned tc_schema_element_types(const json_t *schema)
{
    const json_t *items = json_object_get(schema, "items"),
                 *first = json_object_get(schema, "prefixItems");
    if (!json_object_get(schema, "type"))
        return ask_branches(schema, tc_schema_element_types);
    if (!(tc_schema_types(schema) & TC_TYPE_ARRAY))
        return 0;
    unsigned types = json_is_false(items) ? 0 : tc_schema_types(items);
    for (size_t i = 0; i < json_array_size(first); i++)
        types |= tc_schema_types(json_array_get(first, i));
    return types;
}
