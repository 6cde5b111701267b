/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * YAML as a second form of a policy: the same generic tree as of TOML. */
#ifndef TC_DOCUMENT_YAML_YAML_H
#define TC_DOCUMENT_YAML_YAML_H

#include "document/document.h"

/* A tc_document_reader. */
bool tc_yaml_read(struct tc_document *document, const char *text, size_t len);

/* plain.c: what a plain scalar means. Sets kind and value of the node; a text is left to the
 * caller. NULL, or what is wrong. */
const char *tc_yaml_plain(const char *text, size_t len, struct tc_node *node);

#endif
