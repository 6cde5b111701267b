/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The catalog: tools that ship with toolcage as WebAssembly modules. The manifest of a module
 * supplies the keys that the table of a tool with `module = "catalog:NAME"` does not set. */
#ifndef TC_POLICY_PARSE_CATALOG_H
#define TC_POLICY_PARSE_CATALOG_H

#include "policy/parse/parse.h"

#define TC_CATALOG "catalog:"

/* Ends with a row whose name is NULL. */
extern const struct tc_profile tc_catalog[];
/* The catalog row for a value of `module`, with or without a digest. NULL: not in the catalog. */
const struct tc_profile *tc_catalog_find(const char *module);
/* The manifest's description for models; owned. NULL: out of memory. */
char *tc_catalog_description(const struct tc_profile *row);
/* Adds the keys of the module's manifest that the tool's table does not set. */
void tc_catalog_fill(struct tc_parse *p, struct tc_node *tool);

#endif
