/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy text as a generic tree of tables, arrays and plain values, each with its location. The
 * readers (toml.cc, yaml/) build it; code above this header does not depend on the format. Checking
 * replaces each value by its canonical form in place, so that the canonical JSON of the checked
 * tree is the input of the policy's digest. */
#ifndef TC_DOCUMENT_DOCUMENT_H
#define TC_DOCUMENT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TC_DOCUMENT_BYTES_MAX = 4 << 20,
    TC_DOCUMENT_NODES_MAX = 1 << 18,
    TC_DOCUMENT_DEPTH_MAX = 24,
};

/* A location. Line and column count from 1, in bytes; span is the number of bytes on that line. */
struct tc_location {
    uint32_t line, column, span;
};

enum tc_node_kind {
    TC_NODE_TABLE,
    TC_NODE_ARRAY,
    TC_NODE_STRING,
    TC_NODE_INTEGER,
    TC_NODE_FLOAT,
    TC_NODE_BOOL,
    TC_NODE_DATETIME,
    TC_NODE_NULL, /* only in JSON inside a policy */
};

struct tc_node {
    enum tc_node_kind kind;
    bool unordered;            /* an array whose order has no meaning */
    struct tc_location at;     /* location of the value */
    struct tc_location key_at; /* location of its key; only for a member of a table */
    char *key;                 /* NULL in an array */
    char *text;                /* of strings and datetimes; always valid UTF-8 without NUL */
    size_t len;
    int64_t integer; /* of INTEGER; 0 or 1 for BOOL */
    double number;
    struct tc_node *items; /* members of a table in the order of the text; elements of an array */
    size_t count;
};

struct tc_document {
    struct tc_node root;
    size_t nodes;
    bool memory; /* out of memory while reading */
    /* The first error of the reader, after which the tree must not be used. */
    char *error;
    const char *hint; /* static */
    struct tc_location error_at;
};

/* Fills an empty document. False: an error in the text, or out of memory. */
typedef bool tc_document_reader(struct tc_document *document, const char *text, size_t len);
bool tc_document_read_toml(struct tc_document *document, const char *text, size_t len);
void tc_document_done(struct tc_document *document);

/* The hint for a file with NUL bytes: text that Windows editors save as UTF-16, or not text. */
const char *tc_document_binary_hint(const char *text, size_t len);

/* For readers: a new zeroed child. NULL: the document is full, or out of memory; both are recorded
 * in the document. */
struct tc_node *tc_node_add(struct tc_document *document, struct tc_node *parent);
bool tc_node_set_text(struct tc_document *document, struct tc_node *node, const char *text,
                      size_t len);
bool tc_node_set_key(struct tc_document *document, struct tc_node *node, const char *key,
                     size_t len);
void tc_document_fail(struct tc_document *document, struct tc_location at, const char *message);
void tc_node_sort(struct tc_node *table);

struct tc_node *tc_node_get(const struct tc_node *table, const char *key); /* NULL: no such key */
const char *tc_node_kind_name(enum tc_node_kind kind);                     /* "a table", … */

/* Replace a node's value by its canonical form. */
void tc_node_become_integer(struct tc_node *node, int64_t value);
bool tc_node_become_string(struct tc_node *node, const char *text);
void tc_node_become_empty(struct tc_node *node, enum tc_node_kind kind);
/* Canonical JSON: RFC 8785, except for the spelling of numbers that are not integers. Dates, and
 * numbers that JSON cannot express, become strings. */
void tc_node_canonical(const struct tc_node *node, struct tc_buf *out);

/* ---- JSON (json_node.c) ---- */

/* Adds the JSON value to the root of an empty document; all nodes get the same location. False: out
 * of memory, or document->error has the reason, without quoting the text. */
bool tc_node_read_json(struct tc_document *document, const char *text, size_t len,
                       struct tc_location at);

/* A copy of a node as a new child. NULL: out of memory, or the document is full. */
struct tc_node *tc_node_copy(struct tc_document *document, struct tc_node *parent,
                             const struct tc_node *from);

#ifdef __cplusplus
}
#endif
#endif
