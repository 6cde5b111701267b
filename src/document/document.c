/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "document/document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/strv.h"

struct tc_node *tc_node_add(struct tc_document *document, struct tc_node *parent)
{
    if (document->nodes >= TC_DOCUMENT_NODES_MAX) {
        tc_document_fail(document, parent->at, "the file has too many values (at most 262144)");
        return NULL;
    }
    struct tc_node *node = TC_PUSH(parent->items, parent->count);
    if (!node)
        document->memory = true;
    document->nodes++;
    return node;
}

void tc_document_fail(struct tc_document *document, struct tc_location at, const char *message)
{
    if (document->error)
        return;
    document->error = strdup(message);
    document->error_at = at;
    document->memory |= !document->error;
}

static bool set_string(struct tc_document *document, char **to, const char *text, size_t len,
                       struct tc_location at)
{
    if (!tc_utf8_valid(text, len)) {
        tc_document_fail(document, at, "the file contains a NUL byte or is not UTF-8");
        return false;
    }
    char *copy = strndup(text, len);
    if (!copy) {
        document->memory = true;
        return false;
    }
    free(*to);
    *to = copy;
    return true;
}

bool tc_node_set_text(struct tc_document *document, struct tc_node *node, const char *text,
                      size_t len)
{
    node->len = len;
    return set_string(document, &node->text, text, len, node->at);
}

bool tc_node_set_key(struct tc_document *document, struct tc_node *node, const char *key,
                     size_t len)
{
    return set_string(document, &node->key, key, len, node->key_at);
}

static int compare_places(const void *a, const void *b)
{
    const struct tc_node *x = a, *y = b;
    if (x->key_at.line != y->key_at.line)
        return x->key_at.line < y->key_at.line ? -1 : 1;
    if (x->key_at.column != y->key_at.column)
        return x->key_at.column < y->key_at.column ? -1 : 1;
    return strcmp(x->key, y->key);
}

void tc_node_sort(struct tc_node *table)
{
    if (table->count > 1)
        qsort(table->items, table->count, sizeof(*table->items), compare_places);
}

static void node_done(struct tc_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        node_done(&node->items[i]);
    free(node->items);
    free(node->key);
    free(node->text);
}

void tc_document_done(struct tc_document *document)
{
    node_done(&document->root);
    free(document->error);
    memset(document, 0, sizeof(*document));
}

struct tc_node *tc_node_get(const struct tc_node *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (tc_streq(table->items[i].key, key))
            return &table->items[i];
    return NULL;
}

const char *tc_node_kind_name(enum tc_node_kind kind)
{
    static const char *const words[] = {"a table",  "an array",      "a string", "an integer",
                                        "a number", "true or false", "a date",   "null"};
    return words[kind];
}

void tc_node_become_empty(struct tc_node *node, enum tc_node_kind kind)
{
    for (size_t i = 0; i < node->count; i++)
        node_done(&node->items[i]);
    free(TAKE(node->items));
    free(TAKE(node->text));
    node->count = 0;
    node->len = 0;
    node->kind = kind;
}

void tc_node_become_integer(struct tc_node *node, int64_t value)
{
    tc_node_become_empty(node, TC_NODE_INTEGER);
    node->integer = value;
}

bool tc_node_become_string(struct tc_node *node, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return false;
    tc_node_become_empty(node, TC_NODE_STRING);
    node->text = copy;
    node->len = strlen(copy);
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct tc_node *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static void write_table(const struct tc_node *node, struct tc_buf *out)
{
    _autofree_ const struct tc_node **order = calloc(node->count + 1, sizeof(*order));
    if (!order) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        order[i] = &node->items[i];
    /* UTF-8 bytes sort in code point order. RFC 8785 sorts by UTF-16 code units, which differs only
     * beyond the BMP; keys are names of the key table or checked to be ASCII. */
    qsort(order, node->count, sizeof(*order), compare_keys);
    tc_buf_addc(out, '{');
    for (size_t i = 0; i < node->count; i++) {
        tc_json_key(out, order[i]->key);
        tc_node_canonical(order[i], out);
    }
    tc_buf_addc(out, '}');
}

static void write_array(const struct tc_node *node, struct tc_buf *out)
{
    _autostrv_ struct tc_strv texts = {0};
    for (size_t i = 0; i < node->count; i++) {
        _autobuf_ struct tc_buf one = TC_BUF_INIT;
        tc_node_canonical(&node->items[i], &one);
        if (!tc_strv_take(&texts, tc_buf_steal(&one)))
            out->failed = true;
    }
    if (node->unordered)
        tc_strv_sort(&texts);
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < texts.count; i++) {
        if (node->unordered && i && tc_streq(texts.items[i], texts.items[i - 1]))
            continue;
        tc_buf_addf(out, "%s%s", i ? "," : "", texts.items[i]);
    }
    tc_buf_addc(out, ']');
}

static void write_number(double number, struct tc_buf *out)
{
    char text[TC_NUMBER_TEXT_SIZE];
    tc_number_write(number, text);
    tc_buf_addf(out, isfinite(number) ? "%s" : "\"%s\"", text);
}

void tc_node_canonical(const struct tc_node *node, struct tc_buf *out)
{
    switch (node->kind) {
    case TC_NODE_TABLE:
        write_table(node, out);
        break;
    case TC_NODE_ARRAY:
        write_array(node, out);
        break;
    case TC_NODE_STRING:
    case TC_NODE_DATETIME:
        tc_json_string(out, node->text ? node->text : "", node->len);
        break;
    case TC_NODE_INTEGER:
        tc_buf_addi(out, node->integer);
        break;
    case TC_NODE_BOOL:
        tc_buf_adds(out, node->integer ? "true" : "false");
        break;
    case TC_NODE_FLOAT:
        write_number(node->number, out);
        break;
    case TC_NODE_NULL:
        tc_buf_adds(out, "null");
        break;
    }
}

const char *tc_document_binary_hint(const char *text, size_t len)
{
    bool utf16 = len > 1 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));
    return utf16 ? "the file is UTF-16: save it as UTF-8" : "name a text file, in TOML or YAML";
}
