/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `input_schema`: a JSON Schema (2020-12) of the arguments, in a separate file, as JSON
 * text or as a table. It is converted to arguments as if they were written one by one, and replaces
 * the file's name in the policy's tree, so that the digest covers it. No part is ignored: what
 * arguments cannot express is a finding. Messages quote a file only after its content has proven to
 * be such a schema. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/parse/parse.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

/* ---- loading the schema ---- */

/* Each tool stores its own tree of the schema, even if thousands of tools name one file, so the
 * sum is limited. False after a finding; further schemas are not read. */
static bool add_bytes(struct tc_parse *p, const struct tc_node *node, size_t len)
{
    p->schemas += len;
    if (p->schemas > TC_DOCUMENT_BYTES_MAX)
        tc_parse_bad(
            p, node, "split the policy, or shorten the schemas",
            "the schemas of this policy, each counted once per tool, have more than 4 MiB");
    return p->schemas <= TC_DOCUMENT_BYTES_MAX;
}

/* Replaces the node's string by the tree of the text. */
static bool read_text(struct tc_parse *p, struct tc_node *node, const char *text, size_t len)
{
    if (!add_bytes(p, node, len))
        return false;
    _auto_(tc_document_done) struct tc_document document = {0};
    if (!tc_node_read_json(&document, text, len, node->at)) {
        if (document.memory || !document.error)
            p->diag.memory = true;
        else
            tc_parse_bad(p, node, "give one JSON Schema of an object", "%s", document.error);
        return false;
    }
    tc_node_become_empty(node, document.root.kind);
    node->items = TAKE(document.root.items);
    node->count = document.root.count;
    document.root.count = 0;
    return true;
}

/* Adds the file to the policy's files, which no cage may write. Takes `real`. */
static bool note_file(struct tc_parse *p, const struct tc_node *node, const char *path, char *real)
{
    _autofree_ char *owned = real;
    struct toolcage_policy *policy = p->policy;
    for (size_t i = 0; i < policy->file_count; i++)
        if (tc_streq(policy->files[i].path, path))
            return true;
    if (policy->file_count == TC_FILES_MAX) {
        tc_parse_bad(p, node, "write some schemas as tables", "at most %d files make one policy",
                     TC_FILES_MAX);
        return false;
    }
    struct tc_policy_file *file = &policy->files[policy->file_count++];
    *file = (struct tc_policy_file){.name = strdup(path),
                                    .path = strdup(path),
                                    .real = TAKE(owned),
                                    .text = strdup(""), /* no finding points into it */
                                    .by = node->at.line};
    p->diag.memory |= !file->name || !file->path || !file->text;
    return !p->diag.memory;
}

static bool read_found(struct tc_parse *p, struct tc_node *node, const char *path)
{
    struct tc_policy_found found = {0};
    struct toolcage_error *why = NULL;
    int rc = p->source->read(p->source->context, path, &found, &why);
    if (rc == TOOLCAGE_EMEMORY)
        p->diag.memory = true;
    else if (rc)
        tc_parse_bad(p, node,
                     rc == TOOLCAGE_ENOT_FOUND ? "save the schema there, or give the right path"
                                               : tc_error_hint(why),
                     "%s", tc_error_message(why));
    tc_error_free(why);
    bool fine = !rc && note_file(p, node, path, TAKE(found.real)) &&
                read_text(p, node, found.text, found.length);
    free(found.text);
    return fine;
}

static bool read_file(struct tc_parse *p, struct tc_node *node)
{
    if (!tc_endswith(node->text, ".json")) {
        tc_parse_bad(p, node, "call it NAME.json; JSON begins with {",
                     "\"%.80s\" is neither a JSON file nor JSON", node->text);
        return false;
    }
    _autofree_ char *path = tc_parse_path(p, node);
    if (!path)
        return false;
    if (!p->source || !p->source->read) {
        tc_parse_bad(p, node, "load the policy from a file, or write the schema as a table",
                     "a policy that is not a file cannot name \"%.80s\"", node->text);
        return false;
    }
    return read_found(p, node, path);
}

static bool read_string(struct tc_parse *p, struct tc_node *node)
{
    if (p->schemas > TC_DOCUMENT_BYTES_MAX)
        return false;
    if (node->text[strspn(node->text, " \t\r\n")] != '{')
        return read_file(p, node);
    _autofree_ char *json = tc_parse_copy(p, node->text); /* read_text() frees the node's text */
    return json && read_text(p, node, json, strlen(json));
}

/* ---- keywords of the schema's root ---- */

static bool is_object(struct tc_parse *p, const struct tc_node *schema)
{
    const struct tc_node *type = schema->kind == TC_NODE_TABLE ? tc_node_get(schema, "type") : NULL;
    if (type && type->kind == TC_NODE_STRING && tc_streq(type->text, "object"))
        return true;
    tc_parse_bad(p, schema, "begin with {\"type\": \"object\", \"properties\": {...}, ...}",
                 "this is not the schema of an object, and arguments are an object");
    return false;
}

static void check_required(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    const struct tc_node *properties = tc_node_get(schema, "properties");
    if (!tc_parse_is(p, node, TC_NODE_ARRAY) || !tc_parse_members_fit(p, node))
        return;
    node->unordered = true;
    if (properties && properties->count > TC_MEMBERS_MAX)
        return;
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *name = &node->items[i];
        if (name->kind != TC_NODE_STRING)
            tc_parse_bad_in(p, node, name, NULL, "a required name must be a string");
        else if (!properties || !tc_node_get(properties, name->text))
            tc_parse_bad_in(p, node, name, "declare it in properties, or remove it",
                            "\"%.80s\" is required and not among the properties", name->text);
    }
}

static void check_closed(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    (void)schema;
    if (node->kind != TC_NODE_BOOL || node->integer)
        tc_parse_bad(p, node, "write \"additionalProperties\": false",
                     "arguments that are not declared are always refused");
}

static void check_dialect(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    (void)schema;
    if (tc_parse_is(p, node, TC_NODE_STRING) && !tc_streq(node->text, DIALECT))
        tc_parse_bad(p, node, "write it for " DIALECT,
                     "this dialect of JSON Schema is not "
                     "supported");
}

/* An annotation: it restricts no value, and models receive the tool's `description` instead. */
static void check_words(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    (void)schema;
    (void)tc_parse_is(p, node, TC_NODE_STRING);
}

static void check_properties(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    (void)schema;
    (void)(tc_parse_is(p, node, TC_NODE_TABLE) && tc_parse_members_fit(p, node));
}

/* A definition is checked where a reference expands it. */
static void check_definitions(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    check_properties(p, schema, node);
}

static void check_type(struct tc_parse *p, struct tc_node *schema, struct tc_node *node)
{
    (void)p;
    (void)schema;
    (void)node; /* is_object() has checked it */
}

static const struct {
    const char *keyword;
    void (*check)(struct tc_parse *p, struct tc_node *schema, struct tc_node *node);
} keywords[] = {{"type", check_type},
                {"properties", check_properties},
                {"required", check_required},
                {"additionalProperties", check_closed},
                {"$schema", check_dialect},
                {"$id", check_words},
                {"$comment", check_words},
                {"title", check_words},
                {"description", check_words},
                {"$defs", check_definitions},
                {"definitions", check_definitions}};

/* Keywords that restrict the arguments as one object. They only narrow the type "object". */
static bool binds_together(const char *keyword)
{
    static const char *const words[] = {"anyOf",
                                        "oneOf",
                                        "allOf",
                                        "not",
                                        "if",
                                        "then",
                                        "else",
                                        "minProperties",
                                        "maxProperties",
                                        "propertyNames",
                                        "dependentRequired",
                                        "dependentSchemas"};
    return TC_AMONG(words, keyword);
}

static void read_together(struct tc_parse *p, const struct tc_node *schema, struct tc_spec *spec)
{
    _auto_(tc_document_done) struct tc_document made = {0};
    made.root.kind = TC_NODE_TABLE;
    for (size_t i = 0; i < schema->count; i++)
        if (binds_together(schema->items[i].key) &&
            !tc_schema_expand(p, schema, &made, &schema->items[i]))
            return;
    if (!made.root.count)
        return;
    spec->together = calloc(1, sizeof(*spec->together));
    json_t *words = spec->together ? json_object() : NULL;
    if (!words) {
        p->diag.memory = true;
        return;
    }
    spec->together->schema = words;
    spec->together->line = schema->at.line;
    p->narrows = true;
    p->argument = spec->together;
    tc_parse_schema(p, TC_SCOPE_ITEMS, &made.root, spec->together);
    p->argument = NULL;
    p->narrows = false;
}

static void check_root(struct tc_parse *p, struct tc_node *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        struct tc_node *node = &schema->items[i];
        size_t k = 0;
        while (k < TC_COUNT(keywords) && !tc_streq(keywords[k].keyword, node->key))
            k++;
        if (k < TC_COUNT(keywords))
            keywords[k].check(p, schema, node);
        else if (!binds_together(node->key))
            tc_parse_bad_key(p, node,
                             "state it for each property by type, enum, const, bounds and "
                             "items, or remove it",
                             "\"%.60s\" of the whole schema cannot be enforced", node->key);
    }
    if (!tc_node_get(schema, "additionalProperties"))
        tc_parse_bad_in(
            p, &(struct tc_node){.key = NULL}, schema, "write \"additionalProperties\": false",
            "the schema is open, and arguments that are not declared are always refused");
}

/* ---- its properties ---- */

static bool has_own_words(struct tc_parse *p, const struct tc_node *node)
{
    static const char *const own[] = {"optional", "read", "write", "host"};
    bool found = false;
    size_t mark = tc_parse_enter(p, node->key);
    for (size_t i = 0; i < TC_COUNT(own); i++) {
        const struct tc_node *word = tc_node_get(node, own[i]);
        if (word)
            tc_parse_bad_key(p, word, "write the argument under `arguments` for that",
                             "%s is not a keyword of JSON Schema", own[i]);
        found = found || word;
    }
    tc_parse_leave(p, mark);
    return found;
}

/* Is `type` this type name, or a list with it? */
static bool has_type(const struct tc_node *type, const char *word)
{
    bool found = type && type->kind == TC_NODE_STRING && tc_streq(type->text, word);
    for (size_t i = 0; type && type->kind == TC_NODE_ARRAY && i < type->count; i++)
        found =
            found || (type->items[i].kind == TC_NODE_STRING && tc_streq(type->items[i].text, word));
    return found;
}

static bool check_property(struct tc_parse *p, const struct tc_node *node);

static bool check_properties_of(struct tc_parse *p, const struct tc_node *members)
{
    bool fine = true;
    size_t mark = tc_parse_enter(p, members->key);
    for (size_t i = 0; i < members->count; i++)
        fine = check_property(p, &members->items[i]) && fine;
    tc_parse_leave(p, mark);
    return fine;
}

/* Checks the branches that determine the type: all, except for allOf, where it is the first. */
static bool check_branches(struct tc_parse *p, const struct tc_node *branches)
{
    bool fine = tc_parse_is(p, branches, TC_NODE_ARRAY) && tc_parse_members_fit(p, branches);
    size_t mark = tc_parse_enter(p, branches->key);
    for (size_t i = 0; fine && i < branches->count; i++) {
        char name[24];
        struct tc_node branch = branches->items[i];
        (void)snprintf(name, sizeof(name), "%zu", i);
        branch.key = name;
        branch.key_at = branch.at;
        fine = check_property(p, &branch);
        if (tc_streq(branches->key, "allOf"))
            break;
    }
    tc_parse_leave(p, mark);
    return fine;
}

/* Are all values of const or enum strings? Then "type" may be absent, because its default is
 * "string". */
static bool lists_strings(const struct tc_node *node)
{
    const struct tc_node *one = tc_node_get(node, "const"), *values = tc_node_get(node, "enum");
    bool strings = (one && one->kind == TC_NODE_STRING) ||
                   (!one && values && values->kind == TC_NODE_ARRAY && values->count);
    for (size_t i = 0; !one && strings && i < values->count; i++)
        strings = values->items[i].kind == TC_NODE_STRING;
    return strings;
}

static bool check_array(struct tc_parse *p, const struct tc_node *node)
{
    const struct tc_node *items = tc_node_get(node, "items"),
                         *first = tc_node_get(node, "prefixItems");
    const struct tc_node *most = tc_node_get(node, "maxItems");
    bool full = first && most && most->kind == TC_NODE_INTEGER && most->integer >= 0 &&
                (size_t)most->integer <= first->count;
    if (!items && !full)
        tc_parse_bad_key(p, node, first ? "write items = false" : "write items = { type = ... }",
                         first ? "without items any element would match after those of "
                                 "prefixItems"
                               : "without items any element would match");
    size_t mark = tc_parse_enter(p, node->key);
    bool fine = items ? items->kind == TC_NODE_BOOL || check_property(p, items) : full;
    if (first)
        fine = check_branches(p, first) && fine;
    tc_parse_leave(p, mark);
    return fine;
}

/* Checks a table of schemas, each of which must have a type. */
static bool check_named(struct tc_parse *p, const struct tc_node *members)
{
    return !members || members->kind != TC_NODE_TABLE || members->count > TC_MEMBERS_MAX ||
           check_properties_of(p, members);
}

static bool check_object(struct tc_parse *p, const struct tc_node *node)
{
    const struct tc_node *others = tc_node_get(node, "additionalProperties");
    if (!others)
        tc_parse_bad_key(
            p, node, "write additionalProperties = false",
            "the object is open, and members that are not declared are always refused");
    size_t mark = tc_parse_enter(p, node->key);
    bool fine = others && check_named(p, tc_node_get(node, "properties"));
    fine = check_named(p, tc_node_get(node, "patternProperties")) && fine;
    if (others && others->kind == TC_NODE_TABLE)
        fine = check_property(p, others) && fine;
    tc_parse_leave(p, mark);
    return fine;
}

/* Rejects keys of `arguments` that are not in JSON Schema, and open schemas: in JSON Schema, an
 * absent keyword allows any value. */
static bool check_property(struct tc_parse *p, const struct tc_node *node)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return false;
    bool fine = !has_own_words(p, node);
    const struct tc_node *type = tc_node_get(node, "type");
    const char *bearer = tc_schema_bearer(node);
    if (bearer) {
        size_t mark = tc_parse_enter(p, node->key);
        fine = check_branches(p, tc_node_get(node, bearer)) && fine;
        tc_parse_leave(p, mark);
        return fine;
    }
    if (!type && !lists_strings(node)) {
        tc_parse_bad_key(p, node, "name one type", "without a type any value would match");
        return false;
    }
    if (has_type(type, "array"))
        fine = check_array(p, node) && fine;
    if (has_type(type, "object"))
        fine = check_object(p, node) && fine;
    return fine;
}

static bool is_required(const struct tc_node *schema, const char *name)
{
    const struct tc_node *required = tc_node_get(schema, "required");
    for (size_t i = 0; required && required->kind == TC_NODE_ARRAY && i < required->count; i++)
        if (tc_streq(required->items[i].text, name))
            return true;
    return false;
}

/* Parses a copy of the property, with its references expanded, as if it were written under
 * `arguments`. A copy, because parsing replaces a node by its canonical form. */
static void read_property(struct tc_parse *p, const struct tc_node *schema,
                          const struct tc_node *node, struct tc_spec *spec)
{
    _auto_(tc_document_done) struct tc_document made = {0};
    if (!tc_schema_expand(p, schema, &made, node))
        return;
    struct tc_node *argument = &made.root.items[0];
    if (!check_property(p, argument))
        return;
    struct tc_node *optional =
        !is_required(schema, node->key) ? tc_node_add(&made, argument) : NULL;
    if (optional) {
        optional->kind = TC_NODE_BOOL;
        optional->integer = 1;
        optional->at = optional->key_at = node->at;
    }
    if ((optional && !tc_node_set_key(&made, optional, "optional", 8)) || made.memory)
        p->diag.memory = true;
    else
        tc_parse_argument(p, argument, spec);
}

static void read_properties(struct tc_parse *p, const struct tc_node *schema, struct tc_spec *spec)
{
    const struct tc_node *properties = tc_node_get(schema, "properties");
    const struct tc_node *required = tc_node_get(schema, "required");
    if (!properties || properties->kind != TC_NODE_TABLE || properties->count > TC_MEMBERS_MAX ||
        (required && required->count > TC_MEMBERS_MAX))
        return;
    size_t mark = tc_parse_enter(p, "properties");
    for (size_t i = 0; i < properties->count && !p->diag.memory; i++)
        read_property(p, schema, &properties->items[i], spec);
    tc_parse_leave(p, mark);
}

void tc_set_input_schema(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    bool text = node->kind == TC_NODE_STRING;
    if (!text && node->kind != TC_NODE_TABLE) {
        tc_parse_bad(p, node, "name a JSON file, or write the schema as a table",
                     "%s must be a file name, JSON or a table", key->name);
        return;
    }
    if (text && !read_string(p, node))
        return;
    if (!is_object(p, node))
        return;
    size_t mark = tc_parse_enter(p, key->name);
    p->placeless = text ? p->path_len + 1 : 0;
    check_root(p, node);
    read_properties(p, node, into);
    read_together(p, node, into);
    p->placeless = 0;
    tc_parse_leave(p, mark);
}
