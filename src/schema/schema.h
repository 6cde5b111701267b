/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON Schemas as policies write them: which values fit, and of which types these are. */
#ifndef TC_SCHEMA_SCHEMA_H
#define TC_SCHEMA_SCHEMA_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "schema/pattern.h"

/* What the values of one call are checked with. */
struct tc_schema_run {
    struct tc_pattern *const *patterns; /* those of the argument; borrowed */
    size_t pattern_count;
    uint64_t steps; /* that are left: of schemas on values, and of patterns */
    bool memory;    /* it ran out: the answer is none */
    bool costly;    /* the steps ran out: the answer is no, also where a schema turns it round */
};
/* Of one call: half a second of a machine's at most. */
#define TC_SCHEMA_STEPS ((uint64_t)8 << 20)
/* Value against schema; false after filling the complaint, or out of memory. */
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
/* Of a word of JSON Schema; 0: it is none. */
unsigned tc_type_bit(const char *word);
bool tc_type_fits(unsigned types, const json_t *value);
/* Is it a number without a fraction? */
bool tc_json_is_whole(const json_t *value);
/* Those that its own words say, without those of its branches. */
unsigned tc_schema_own_types(const json_t *schema);
/* Those that a value of the schema can have; none of another fits. */
unsigned tc_schema_types(const json_t *schema);
/* Those that an element can have of a value that is an array. */
unsigned tc_schema_element_types(const json_t *schema);
/* The words that can say it, the first that is there does; ends with NULL. */
extern const char *const tc_schema_bearers[];

/* Are two scalars one value? Of any two numbers, exactly. */
bool tc_json_same(const json_t *a, const json_t *b);
/* Less than 0, 0 or more: exact, where a double would blur the large integers. */
int tc_json_compare_numbers(const json_t *a, const json_t *b);

/* Canonical JSON of any value. */
void tc_json_canonical(const json_t *value, struct tc_buf *out);

/* The words of `format`, each of which is checked in full; ended by NULL. */
extern const char *const tc_values_format[];

/* False, too, where the format is none of the words. */
bool tc_format_fits(const char *format, const char *text);
/* One that fits, for messages; NULL: none of the words. */
const char *tc_format_example(const char *format);

#endif
