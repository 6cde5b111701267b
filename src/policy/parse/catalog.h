/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The catalog: tools that come with toolcage as WebAssembly modules. A manifest says what stands in
 * a tool's table beside `module = "catalog:NAME"`, as far as the policy says nothing else. */
#ifndef TC_POLICY_PARSE_CATALOG_H
#define TC_POLICY_PARSE_CATALOG_H

#include "policy/parse/parse.h"

#define TC_CATALOG "catalog:"

/* Ends with a row whose name is NULL. */
extern const struct tc_profile tc_catalog[];
/* What `module` says, its digest perhaps behind it, as a row; NULL: it is none of the catalog. */
const struct tc_profile *tc_catalog_find(const char *module);
/* The manifest's words for models; owned, NULL: no memory. */
char *tc_catalog_description(const struct tc_profile *row);
/* Puts into a tool's table what the manifest of its module has and the table has not. */
void tc_catalog_fill(struct tc_parse *p, struct tc_node *tool);

#endif
