/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds a path or an endpoint to the text of a policy. Comments, order and everything else stay as
 * they are. */
#ifndef TC_POLICY_EDIT_AMEND_H
#define TC_POLICY_EDIT_AMEND_H

#include "base/error.h"
#include "document/document.h"

struct toolcage_policy;
struct tc_policy_source;

/* `source` is the text from which the policy was compiled. `access` is "read P", "exec P" or "write
 * P" with an absolute P, as the tool sees it; "read? P" and so on for a P that may be missing; or
 * "connect HOST:PORT". `tool` NULL means [defaults]. *ret is owned. TOOLCAGE_EUSAGE with a hint
 * where one more entry cannot grant the access, or where a person must edit the text. Pure. */
int tc_policy_amend(const struct toolcage_policy *policy, const struct tc_policy_source *source,
                    const char *tool, const char *access, char **ret, struct toolcage_error **err);

/* toml_edit.c */
/* Adds `element` (TOML text) to the list `list` ("network", "filesystem.readable") of the table
 * `table` ("tool.x"). Owned. NULL:
 * *ret_why says where the edit is impossible, or out of memory (*ret_why NULL). */
char *tc_toml_add(const char *text, const char *table, const char *list, const char *element,
                  const char **ret_why);

/* yaml_edit.c */
/* Like tc_toml_add() for text that `reader` reads as YAML; `element` is YAML text. Owned. NULL: no
 * unambiguous position in the text, or out of memory. */
char *tc_yaml_add(tc_document_reader *reader, const char *text, const char *table, const char *list,
                  const char *element);

#endif
