/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_POLICY_SCHEMA_PARTS_H
#define TC_POLICY_SCHEMA_PARTS_H

#include "policy/schema.h"

/* A value against the schemas that a schema puts together. */
bool tc_schema_check_parts(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c);

#endif
