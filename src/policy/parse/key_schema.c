/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The JSON Schema of policy files. Each scope becomes a definition, each row a property. A value's
 * schema comes from its inner scope, else from its type. An unknown type accepts any value: the
 * schema must not reject what the compiler accepts. */

#include <ctype.h>
#include <string.h>

#include "base/jsontext.h"
#include "policy/parse/parse.h"

#define NAME_PATTERN "^[A-Za-z0-9_-]{1,64}$"
#define EACH_PATTERN "^([A-Za-z0-9_-]{1,64}|[*])$"
#define ARGUMENT_PATTERN "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"
#define VARIABLE "\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\""
#define PATH "{\"type\":\"string\",\"minLength\":1,\"pattern\":\"^[^*?\\\\[]*$\"}"

/* ---- tables ---- */

/* Keys that a table must have. */
static const struct {
    enum tc_scope scope;
    const char *key;
} required[] = {
    {TC_SCOPE_FS_ENTRY, "path"}, {TC_SCOPE_NET_ENTRY, "host"}, {TC_SCOPE_PUBLISH, "port"},
    {TC_SCOPE_MEMORY, "max"},    {TC_SCOPE_TEST, "tool"},
};

/* "[tool.NAME]" is the definition "tool.NAME". */
static void add_reference(struct tc_buf *out, enum tc_scope scope, const char *before)
{
    bool gap = false, any = false;
    tc_buf_adds(out, before);
    for (const char *c = tc_scope_title(scope); *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_') {
            gap = any;
            continue;
        }
        tc_buf_adds(out, gap ? "-" : "");
        tc_buf_addc(out, *c);
        gap = false;
        any = true;
    }
}

static void add_ref(struct tc_buf *out, enum tc_scope scope)
{
    add_reference(out, scope, "{\"$ref\":\"#/$defs/");
    tc_buf_adds(out, "\"}");
}

static void add_range(struct tc_buf *out, const struct tc_key *key)
{
    char low[TC_VALUE_TEXT_SIZE], high[TC_VALUE_TEXT_SIZE];
    if (!key->max || (key->unit != TC_UNIT_COUNT && key->unit != TC_UNIT_CPUS))
        return;
    tc_value_write(key->unit, key->min, low);
    tc_value_write(key->unit, key->max, high);
    tc_buf_addf(out, ",\"minimum\":%s,\"maximum\":%s", low, high);
}

/* A number that is not 0, where the range excludes 0, and a unit. No schema uses allOf, because
 * taplo crashes on it when it completes a key. */
static void add_quantity(struct tc_buf *out, const struct tc_key *key)
{
    tc_buf_addf(out, "\"type\":\"string\",\"pattern\":\"^%s(%s)$\"",
                key->min > 0 ? "0*[1-9][0-9]*" : "[0-9]+",
                key->unit == TC_UNIT_SIZE ? "[KMGT]i?B|B" : "ms|s|m|h");
}

static void add_named(struct tc_buf *out, const struct tc_key *key)
{
    const char *const *words = key->set == tc_set_tiers   ? tc_values_tier
                               : key->set == tc_set_risks ? tc_values_risk
                                                          : NULL;
    tc_buf_adds(out, "\"type\":\"object\",");
    if (key->form == TC_FORM_MEMBERS) {
        tc_buf_adds(out, "\"additionalProperties\":");
        add_ref(out, key->inner);
        return;
    }
    if (!words) {
        tc_buf_addf(out, "\"propertyNames\":{\"pattern\":\"%s\"},\"additionalProperties\":",
                    key->form == TC_FORM_ARGUMENTS       ? ARGUMENT_PATTERN
                    : key->inner == TC_SCOPE_SERVER_TOOL ? EACH_PATTERN
                                                         : NAME_PATTERN);
        add_ref(out, key->inner);
        return;
    }
    tc_buf_adds(out, "\"additionalProperties\":false,\"properties\":{");
    for (size_t i = 0; words[i]; i++) {
        tc_json_key(out, words[i]);
        add_ref(out, key->inner);
    }
    tc_buf_addc(out, '}');
}

static void add_table(struct tc_buf *out, const struct tc_key *key)
{
    switch (key->form) {
    case TC_FORM_NONE:
        break;
    case TC_FORM_TABLE:
        add_reference(out, key->inner, "\"$ref\":\"#/$defs/");
        tc_buf_addc(out, '"');
        break;
    case TC_FORM_NAMED:
    case TC_FORM_MEMBERS:
    case TC_FORM_ARGUMENTS:
        add_named(out, key);
        break;
    case TC_FORM_LIST:
        tc_buf_adds(out, "\"type\":\"array\",\"items\":");
        add_ref(out, key->inner);
        break;
    case TC_FORM_OR_NONE:
        tc_buf_adds(out, "\"anyOf\":[{\"const\":\"none\"},");
        add_ref(out, key->inner);
        tc_buf_addc(out, ']');
        break;
    case TC_FORM_OR_FALSE:
        tc_buf_adds(out, "\"anyOf\":[{\"const\":false},");
        add_ref(out, key->inner);
        tc_buf_addc(out, ']');
        break;
    case TC_FORM_OR_SIZE:
        tc_buf_adds(out, "\"anyOf\":[{");
        add_quantity(out, key);
        tc_buf_adds(out, "},");
        add_ref(out, key->inner);
        tc_buf_addc(out, ']');
        break;
    }
}

/* ---- values ---- */

static void add_words(struct tc_buf *out, const struct tc_key *key)
{
    tc_buf_adds(out, "\"enum\":[");
    for (size_t i = 0; key->choices && key->choices[i]; i++) {
        tc_buf_adds(out, i ? "," : "");
        tc_json_string(out, key->choices[i], strlen(key->choices[i]));
    }
    tc_buf_addc(out, ']');
}

/* A list of paths, each a string or a table. */
static void add_entries(struct tc_buf *out, const char *before)
{
    tc_buf_adds(out, before);
    tc_buf_adds(out, "\"type\":\"array\",\"items\":{\"anyOf\":[" PATH ",");
    add_ref(out, TC_SCOPE_FS_ENTRY);
    tc_buf_adds(out, "]}");
}

static void add_network(struct tc_buf *out)
{
    tc_buf_adds(out, "\"anyOf\":[{\"const\":\"none\"},{\"type\":\"array\",\"items\":{\"anyOf\":["
                     "{\"type\":\"string\",\"minLength\":1},");
    add_ref(out, TC_SCOPE_NET_ENTRY);
    tc_buf_adds(out, "]}}]");
}

static void add_sockets(struct tc_buf *out)
{
    tc_buf_adds(out, "\"anyOf\":[{\"enum\":[\"none\",\"own\"]},{");
    add_entries(out, "\"minItems\":1,");
    tc_buf_adds(out, "}]");
}

static void add_clauses(struct tc_buf *out, const struct tc_key *key)
{
    tc_buf_adds(out, "\"type\":\"array\",\"items\":{");
    add_words(out, key);
    tc_buf_addc(out, '}');
}

static void add_type(struct tc_buf *out, const struct tc_key *key)
{
    tc_buf_adds(out, "\"anyOf\":[{");
    add_words(out, key);
    tc_buf_adds(out, "},{");
    add_clauses(out, key);
    tc_buf_adds(out, ",\"minItems\":1}]");
}

/* Chooses the schema by the key's setter, where its type is not specific enough. */
static bool add_by_setter(struct tc_buf *out, const struct tc_key *key)
{
    if (key->set == tc_set_network)
        add_network(out);
    else if (key->set == tc_set_unix_sockets)
        add_sockets(out);
    else if (key->set == tc_set_readable || key->set == tc_set_writable)
        add_entries(out, "");
    else if (key->set == tc_set_without || key->set == tc_set_pass)
        add_clauses(out, key);
    else if (key->set == tc_set_type)
        add_type(out, key);
    else
        return false;
    return true;
}

static const struct {
    const char *type, *schema;
    tc_key_set *set; /* NULL: any */
} plain[] = {
    {"string", "\"type\":\"string\",\"minLength\":1", tc_set_string},
    {"path", "\"type\":\"string\",\"pattern\":\"^/\"", tc_set_cwd},
    {"array of strings", "\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1",
     tc_set_command},
    {"array of strings", "\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1}",
     tc_set_strings},
    {"array of paths", "\"type\":\"array\",\"items\":" PATH, tc_set_denied},
    {"array of paths", "\"type\":\"array\",\"minItems\":1,\"items\":" PATH, NULL},
    {"integer", "\"type\":\"integer\",\"minimum\":0", tc_set_length},
    {"array of names", "\"type\":\"array\",\"items\":{\"type\":\"string\"," VARIABLE "}", NULL},
    {"array of accesses",
     "\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^(read|write|exec|connect) "
     ".\"}",
     NULL},
    {"array of strings", "\"type\":\"array\",\"items\":{\"type\":\"string\"}", NULL},
    {"array of patterns", "\"type\":\"array\",\"items\":{\"type\":\"string\"}", NULL},
    {"array of endpoints", "\"type\":\"array\",\"items\":{\"type\":\"string\"}", NULL},
    {"array", "\"type\":\"array\",\"minItems\":1", tc_set_enum},
    {"array of values", "\"type\":\"array\"", NULL},
    {"table of arrays",
     "\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\",\"items\":{\"type\":"
     "\"string\"}}",
     NULL},
    {"array", "\"type\":\"array\"", NULL},
    {"table of strings",
     "\"type\":\"object\",\"propertyNames\":{" VARIABLE
     "},\"additionalProperties\":{\"type\":\"string\"}",
     tc_set_env_set},
    {"table", "\"type\":\"object\"", NULL},
    {"tables", "\"type\":\"object\"", NULL},
    {"boolean", "\"type\":\"boolean\"", NULL},
    {"path, or array of them",
     "\"anyOf\":[{\"type\":\"string\",\"minLength\":1},{\"type\":\"array\",\"minItems\":1,"
     "\"items\":{\"type\":\"string\",\"minLength\":1}}]",
     NULL},
    {"string", "\"type\":\"string\"", NULL},
    {"path", "\"type\":\"string\",\"minLength\":1", NULL},
};

static void add_plain(struct tc_buf *out, const struct tc_key *key)
{
    for (size_t i = 0; i < TC_COUNT(plain); i++)
        if (tc_streq(plain[i].type, key->type) && (!plain[i].set || plain[i].set == key->set)) {
            tc_buf_adds(out, plain[i].schema);
            return;
        }
    if (tc_streq(key->type, "integer") || tc_streq(key->type, "number")) {
        tc_buf_addf(out, "\"type\":\"%s\"", key->type);
        add_range(out, key);
    } else if (tc_streq(key->type, "duration") || tc_streq(key->type, "size")) {
        add_quantity(out, key);
    } else if (tc_streq(key->type, "word") && key->choices) {
        add_words(out, key);
    }
}

static void add_form(struct tc_buf *out, const struct tc_key *key)
{
    if (key->form)
        add_table(out, key);
    else if (!add_by_setter(out, key))
        add_plain(out, key);
}

/* ---- descriptions, defaults and examples ---- */

static void add_description(struct tc_buf *out, const struct tc_key *key)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    char range[256];
    tc_key_range(key, range, sizeof(range));
    tc_buf_adds(&text, key->text);
    if (range[0])
        tc_buf_addf(&text, " Range: %s.", range);
    if (key->fallback)
        tc_buf_addf(&text, " Absent: %s.", key->fallback);
    tc_json_key(out, "description");
    tc_json_string(out, text.data ? text.data : "", text.len);
    out->failed |= text.failed;
}

/* Adds a default that is a valid value of the key; other defaults are only in the description. */
static void add_default(struct tc_buf *out, const struct tc_key *key)
{
    const char *text = key->fallback;
    int64_t number;
    struct tc_complaint c;
    bool word = false;
    for (size_t i = 0; text && key->choices && key->choices[i]; i++)
        word |= tc_streq(key->choices[i], text);
    if (!text || strchr(text, ' '))
        return;
    if (word || tc_streq(text, "none") ||
        ((key->unit == TC_UNIT_SIZE || key->unit == TC_UNIT_DURATION) &&
         tc_value_read(key->unit, text, key->min, key->max, &number, &c)))
        tc_json_member(out, "default", text);
    else if (tc_streq(key->type, "boolean") || (tc_streq(key->type, "integer") && key->max)) {
        tc_json_key(out, "default");
        tc_buf_adds(out, text);
    }
}

static const struct tc_node *find_node(const struct tc_node *table, const char *name)
{
    const struct tc_node *found = tc_node_get(table, name);
    for (size_t i = 0; !found && i < table->count; i++)
        if (table->items[i].kind == TC_NODE_TABLE)
            found = find_node(&table->items[i], name);
    return found;
}

/* Adds the key's value in the row's example, which is TOML text. */
static void add_example(struct tc_buf *out, const struct tc_key *key)
{
    _auto_(tc_document_done) struct tc_document document = {0};
    if (!key->example || !tc_document_read_toml(&document, key->example, strlen(key->example))) {
        out->failed |= document.memory;
        return;
    }
    const struct tc_node *node = find_node(&document.root, key->name);
    if (!node || node->kind == TC_NODE_FLOAT || (node->kind == TC_NODE_TABLE && !node->count))
        return;
    tc_json_key(out, "examples");
    tc_buf_addc(out, '[');
    tc_node_canonical(node, out);
    tc_buf_addc(out, ']');
}

static void add_scope(struct tc_buf *out, enum tc_scope scope)
{
    tc_buf_adds(out, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (const struct tc_key *key = tc_keys; key->name; key++) {
        if (!(key->scopes & TC_SCOPE_BIT(scope)) || !key->set)
            continue;
        tc_json_key(out, key->name);
        tc_buf_addc(out, '{');
        add_form(out, key);
        add_description(out, key);
        add_default(out, key);
        add_example(out, key);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, '}');
    for (size_t i = 0; i < TC_COUNT(required); i++)
        if (required[i].scope == scope) {
            tc_buf_adds(out, ",\"required\":[");
            tc_json_string(out, required[i].key, strlen(required[i].key));
            tc_buf_addc(out, ']');
        }
}

int tc_policy_schema_json(char **ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                      "\"title\":\"toolcage policy\",");
    add_scope(&out, TC_SCOPE_FILE);
    tc_buf_adds(&out, ",\"$defs\":{");
    for (int scope = TC_SCOPE_FILE + 1; scope < TC_SCOPE_COUNT; scope++) {
        add_reference(&out, (enum tc_scope)scope, scope == TC_SCOPE_FILE + 1 ? "\"" : ",\"");
        tc_buf_adds(&out, "\":{");
        add_scope(&out, (enum tc_scope)scope);
        tc_buf_addc(&out, '}');
    }
    tc_buf_adds(&out, "}}");
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}
