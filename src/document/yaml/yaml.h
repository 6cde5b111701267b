/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * YAML as the second format of policies, with the same generic tree as TOML. */
#ifndef TC_DOCUMENT_YAML_YAML_H
#define TC_DOCUMENT_YAML_YAML_H

#include "document/document.h"

/* A tc_document_reader. */
bool tc_yaml_read(struct tc_document *document, const char *text, size_t len);

/* plain.c: interprets a plain scalar. Sets the node's kind and value; the caller sets the text of a
 * string. NULL, or what is wrong. */
const char *tc_yaml_plain(const char *text, size_t len, struct tc_node *node);

#endif
