/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy file as a JSON Schema, for editors: made from the table of keys. */
#ifndef TC_POLICY_PARSE_KEY_SCHEMA_H
#define TC_POLICY_PARSE_KEY_SCHEMA_H

#include "base/error.h"

/* JSON Schema 2020-12, of words that mean the same in draft-07. What the compiler accepts is valid
 * by it; the other way round it is weaker. *ret is owned. Pure. */
int tc_policy_schema_json(char **ret, struct toolcage_error **err);

#endif
