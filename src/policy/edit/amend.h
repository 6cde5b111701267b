/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One more path in the text of a policy: comments, order and everything else stay as they are. */
#ifndef TC_POLICY_EDIT_AMEND_H
#define TC_POLICY_EDIT_AMEND_H

#include "base/error.h"
#include "document/document.h"

struct toolcage_policy;
struct tc_policy_source;

/* `source` is what the policy was compiled from. `access` is "read P", "exec P" or "write P" with
 * an absolute P, as the tool sees it, or "read? P" and so on: P may be missing; `tool` NULL stands
 * for [defaults]. *ret is owned. TOOLCAGE_EUSAGE with a hint for what cannot be had by one more
 * path, or where a person has to write it. Pure. */
int tc_policy_amend(const struct toolcage_policy *policy, const struct tc_policy_source *source,
                    const char *tool, const char *access, char **ret, struct toolcage_error **err);

/* toml_edit.c */
/* Adds `element`, TOML text of one, to filesystem.LIST of the table `table` ("tool.x"). Owned; NULL
 * with *ret_why: where the text has no place for it, or NULL: no memory. */
char *tc_toml_add(const char *text, const char *table, const char *list, const char *element,
                  const char **ret_why);

/* yaml_edit.c */
/* The same for text that `reader` reads as YAML, with `element` in YAML. Owned; NULL: the text has
 * no place for it that is sure, or there is no memory. */
char *tc_yaml_add(tc_document_reader *reader, const char *text, const char *table, const char *list,
                  const char *element);

#endif
