/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_SCHEMA_PARTS_H
#define TC_SCHEMA_PARTS_H

#include "schema/schema.h"

/* Checks a value against the schemas that a schema combines. */
bool tc_schema_check_parts(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c);

/* Checks an object against the keywords about its members. */
bool tc_schema_check_members(struct tc_schema_run *run, const char *name, const json_t *schema,
                             const json_t *value, struct tc_complaint *c);
/* Checks a count against the keywords `least` and `most`. */
bool tc_schema_check_count(const char *name, const json_t *schema, const char *least,
                           const char *most, size_t count, const char *unit,
                           struct tc_complaint *c);
/* Matches a text against one of the schema's patterns; records in the run if there is no result. */
enum tc_pattern_verdict tc_schema_match(struct tc_schema_run *run, const char *pattern,
                                        const char *text, size_t len);
/* The beginning of a value, as JSON. */
void tc_schema_show(const json_t *value, char *out, size_t size);

#endif
