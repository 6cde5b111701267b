/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_SCHEMA_PARTS_H
#define TC_SCHEMA_PARTS_H

#include "schema/schema.h"

/* A value against the schemas that a schema puts together. */
bool tc_schema_check_parts(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c);

/* An object against the words that speak of its members. */
bool tc_schema_check_members(struct tc_schema_run *run, const char *name, const json_t *schema,
                             const json_t *value, struct tc_complaint *c);
/* A count against the two words. */
bool tc_schema_check_count(const char *name, const json_t *schema, const char *least,
                           const char *most, size_t count, const char *unit,
                           struct tc_complaint *c);
/* A text against a pattern of the schema's; the run remembers what has no answer. */
enum tc_pattern_verdict tc_schema_match(struct tc_schema_run *run, const char *pattern,
                                        const char *text, size_t len);
/* A value's beginning, as JSON spells it. */
void tc_schema_show(const json_t *value, char *out, size_t size);

#endif
