/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Converts JSON text to the generic tree; copies nodes. */
#include "document/document.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static bool fill_node(struct tc_document *document, struct tc_node *node, const json_t *value,
                      unsigned depth);

static bool fill_object(struct tc_document *document, struct tc_node *node, const json_t *value,
                        unsigned depth)
{
    /* jansson's iterator takes a non-const pointer but does not write */
    json_t *object = (json_t *)(uintptr_t)value;
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *key = json_object_iter_key(it);
        struct tc_node *child = tc_node_add(document, node);
        if (!child)
            return false;
        child->at = child->key_at = node->at;
        if (!tc_node_set_key(document, child, key, strlen(key)) ||
            !fill_node(document, child, json_object_iter_value(it), depth + 1))
            return false;
    }
    return true;
}

static bool fill_array(struct tc_document *document, struct tc_node *node, const json_t *value,
                       unsigned depth)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct tc_node *child = tc_node_add(document, node);
        if (!child)
            return false;
        child->at = node->at;
        if (!fill_node(document, child, json_array_get(value, i), depth + 1))
            return false;
    }
    return true;
}

static bool fill_node(struct tc_document *document, struct tc_node *node, const json_t *value,
                      unsigned depth)
{
    if (depth > TC_DOCUMENT_DEPTH_MAX) {
        tc_document_fail(document, node->at, "the JSON is nested deeper than 24");
        return false;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        node->kind = TC_NODE_TABLE;
        return fill_object(document, node, value, depth);
    case JSON_ARRAY:
        node->kind = TC_NODE_ARRAY;
        return fill_array(document, node, value, depth);
    case JSON_STRING:
        node->kind = TC_NODE_STRING;
        return tc_node_set_text(document, node, json_string_value(value),
                                json_string_length(value));
    case JSON_INTEGER:
        node->kind = TC_NODE_INTEGER;
        node->integer = json_integer_value(value);
        return true;
    case JSON_REAL:
        node->kind = TC_NODE_FLOAT;
        node->number = json_real_value(value);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        node->kind = TC_NODE_BOOL;
        node->integer = json_is_true(value);
        return true;
    case JSON_NULL:
        node->kind = TC_NODE_NULL;
        return true;
    }
    return false;
}

bool tc_node_read_json(struct tc_document *document, const char *text, size_t len,
                       struct tc_location at)
{
    json_error_t error;
    /* jansson may drop a character when an allocation fails and continue without an error; so the
     * text is parsed twice and both results must be equal */
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    json_t *again = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    bool fine = value && again && json_equal(value, again);
    document->root.at = document->root.key_at = at;
    if (!fine && (value || again || json_error_code(&error) == json_error_out_of_memory)) {
        document->memory = true;
    } else if (!fine) {
        char message[120];
        (void)snprintf(message, sizeof(message),
                       "this is not the JSON of an object (line %d, column %d)", error.line,
                       error.column);
        tc_document_fail(document, at, message);
    }
    fine = fine && fill_node(document, &document->root, value, 0);
    json_decref(value);
    json_decref(again);
    return fine && !document->memory && !document->error;
}

static bool copy_members(struct tc_document *document, struct tc_node *to,
                         const struct tc_node *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (!tc_node_copy(document, to, &from->items[i]))
            return false;
    return true;
}

struct tc_node *tc_node_copy(struct tc_document *document, struct tc_node *parent,
                             const struct tc_node *from)
{
    struct tc_node *to = tc_node_add(document, parent);
    if (!to)
        return NULL;
    to->kind = from->kind;
    to->unordered = from->unordered;
    to->at = from->at;
    to->key_at = from->key_at;
    to->integer = from->integer;
    to->number = from->number;
    if ((from->key && !tc_node_set_key(document, to, from->key, strlen(from->key))) ||
        (from->text && !tc_node_set_text(document, to, from->text, from->len)))
        return NULL;
    return copy_members(document, to, from) ? to : NULL;
}
