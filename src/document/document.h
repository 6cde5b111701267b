/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy text as a generic tree: tables, arrays and plain values, each with its place. Readers
 * (toml.cc, yaml/) make it; nothing behind this header knows which one did. While the tree is
 * checked each value is brought to its canonical form in place, so that at the end the tree says
 * what the policy means and its canonical JSON is what the policy's digest covers. */
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

/* Line and column count from 1, in bytes; span is how many bytes the thing takes on its line. */
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
    TC_NODE_NULL, /* only JSON within a policy has it */
};

struct tc_node {
    enum tc_node_kind kind;
    bool unordered;            /* an array whose order means nothing */
    struct tc_location at;     /* the value */
    struct tc_location key_at; /* its key, where it stands in a table */
    char *key;                 /* NULL in an array */
    char *text;                /* strings and datetimes; always valid UTF-8 without NUL */
    size_t len;
    int64_t integer; /* INTEGER, and 0 or 1 for BOOL */
    double number;
    struct tc_node *items; /* members of a table in the order of the text, elements of an array */
    size_t count;
};

struct tc_document {
    struct tc_node root;
    size_t nodes;
    bool memory; /* out of memory while reading */
    /* the reader's only finding; the tree is then not to be used */
    char *error;
    const char *hint; /* static */
    struct tc_location error_at;
};

/* Fills an empty document. False when there is a finding or no memory. */
typedef bool tc_document_reader(struct tc_document *document, const char *text, size_t len);
bool tc_document_read_toml(struct tc_document *document, const char *text, size_t len);
void tc_document_done(struct tc_document *document);

/* For readers. A new zeroed child, NULL when the document is full (then *document says so). */
struct tc_node *tc_node_add(struct tc_document *document, struct tc_node *parent);
bool tc_node_set_text(struct tc_document *document, struct tc_node *node, const char *text,
                      size_t len);
bool tc_node_set_key(struct tc_document *document, struct tc_node *node, const char *key,
                     size_t len);
void tc_document_fail(struct tc_document *document, struct tc_location at, const char *message);
void tc_node_sort(struct tc_node *table);

struct tc_node *tc_node_get(const struct tc_node *table, const char *key); /* NULL: not there */
const char *tc_node_kind_name(enum tc_node_kind kind);                     /* "a table", … */

/* Canonical forms, in place. */
void tc_node_become_integer(struct tc_node *node, int64_t value);
bool tc_node_become_string(struct tc_node *node, const char *text);
void tc_node_become_empty(struct tc_node *node, enum tc_node_kind kind);
/* Canonical JSON: RFC 8785, but for how it spells what is no integer; what is no number of JSON
 * comes as a string, and so does a date. */
void tc_node_canonical(const struct tc_node *node, struct tc_buf *out);

/* ---- JSON as a tree of the policy's ---- */

/* Adds what the text says to the root of an empty document, all at one place. False when it cannot:
 * document->error says why, in words that hold nothing of the text, or memory ran out. */
bool tc_node_read_json(struct tc_document *document, const char *text, size_t len,
                       struct tc_location at);

/* A copy of a node as a new child. NULL: no memory, or the document is full. */
struct tc_node *tc_node_copy(struct tc_document *document, struct tc_node *parent,
                             const struct tc_node *from);

#ifdef __cplusplus
}
#endif
#endif
