/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a plain scalar (one without quotes) of YAML means: the core schema of YAML 1.2 and nothing
 * else. What other readers or TOML take for something else than that is an error: quotes make it
 * clear, and a policy must not have two meanings. */
#ifndef TC_DOCUMENT_YAML_PLAIN_H
#define TC_DOCUMENT_YAML_PLAIN_H

#include "document/document.h"

/* Sets kind and value of the node; a text is left to the caller. NULL, or what is wrong. */
const char *tc_yaml_plain(const char *text, size_t len, struct tc_node *node);

#endif
