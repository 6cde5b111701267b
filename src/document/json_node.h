/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON as a tree of the policy's. */
#ifndef TC_DOCUMENT_JSON_NODE_H
#define TC_DOCUMENT_JSON_NODE_H

#include "document/document.h"

/* Adds what the text says to the root of an empty document, all at one place. False when it cannot:
 * document->error says why, in words that hold nothing of the text, or memory ran out. */
bool tc_node_read_json(struct tc_document *document, const char *text, size_t len,
                       struct tc_place at);

/* A copy of a node as a new child. NULL: no memory, or the document is full. */
struct tc_node *tc_node_copy(struct tc_document *document, struct tc_node *parent,
                             const struct tc_node *from);

#endif
