/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON Schemas of policies: which values match, and which types they have. */
#ifndef TC_SCHEMA_SCHEMA_H
#define TC_SCHEMA_SCHEMA_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "schema/pattern.h"

/* The state of checking the values of one call. */
struct tc_schema_run {
    struct tc_pattern *const *patterns; /* of the argument; borrowed */
    size_t pattern_count;
    uint64_t steps; /* remaining steps of schema checks and pattern matches */
    bool memory;    /* out of memory: there is no result */
    bool costly;    /* the steps are used up: the check fails, also below `not` */
};
/* Steps of one call: at most half a second. */
#define TC_SCHEMA_STEPS ((uint64_t)8 << 20)
/* Checks a value against a schema. False after filling the complaint, or out of memory. */
bool tc_schema_check(struct tc_schema_run *run, const char *name, const json_t *schema,
                     const json_t *value, struct tc_complaint *c);

/* Types of JSON, as bits. */
enum {
    TC_TYPE_STRING = 1 << 0,
    TC_TYPE_INTEGER = 1 << 1,
    TC_TYPE_NUMBER = 1 << 2,
    TC_TYPE_BOOLEAN = 1 << 3,
    TC_TYPE_NULL = 1 << 4,
    TC_TYPE_ARRAY = 1 << 5,
    TC_TYPE_OBJECT = 1 << 6,
    TC_TYPE_ANY = (1 << 7) - 1,
};
/* The bit of a JSON Schema type name; 0: unknown. */
unsigned tc_type_bit(const char *word);
bool tc_type_fits(unsigned types, const json_t *value);
/* Is it a number without a fraction? */
bool tc_json_is_whole(const json_t *value);
/* The types that the schema's own keywords allow, without its branches. */
unsigned tc_schema_own_types(const json_t *schema);
/* The types that a value of the schema can have; no value of another type matches. */
unsigned tc_schema_types(const json_t *schema);
/* The types that an element of an array value can have. */
unsigned tc_schema_element_types(const json_t *schema);
/* Keywords that can determine the type; the first present one does. Ends with NULL. */
extern const char *const tc_schema_bearers[];

/* Are two scalars the same value? Exact for any two numbers. */
bool tc_json_same(const json_t *a, const json_t *b);
/* Less than 0, 0 or more. Exact, where converting large integers to double would lose precision. */
int tc_json_compare_numbers(const json_t *a, const json_t *b);

/* Canonical JSON of any value. */
void tc_json_canonical(const json_t *value, struct tc_buf *out);

/* The supported values of `format`, each fully checked; ends with NULL. */
extern const char *const tc_values_format[];

/* False also for an unknown format. */
bool tc_format_fits(const char *format, const char *text);
/* A matching text, for messages; NULL: unknown format. */
const char *tc_format_example(const char *format);

#endif
