/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Values with units as text: sizes, durations, counts. Used for the policy file and for the flags
 * of a call, so that both accept the same spellings. */
#ifndef TC_POLICY_PARSE_VALUES_H
#define TC_POLICY_PARSE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum tc_unit {
    TC_UNIT_COUNT,    /* a whole number */
    TC_UNIT_SIZE,     /* bytes */
    TC_UNIT_DURATION, /* milliseconds */
    TC_UNIT_CPUS,     /* thousandths of a CPU */
};

enum { TC_VALUE_TEXT_SIZE = 48 };

/* Parses a number within [min, max]. False after filling the complaint. */
bool tc_value_read(enum tc_unit unit, const char *text, int64_t min, int64_t max, int64_t *ret,
                   struct tc_complaint *c);
/* Is the number within [min, max]? False after filling the complaint. */
bool tc_value_check(enum tc_unit unit, int64_t value, int64_t min, int64_t max,
                    struct tc_complaint *c);
/* The complaint about a number without the required unit. */
void tc_value_bare(enum tc_unit unit, const char *text, struct tc_complaint *c);
/* The number as a policy would spell it: "512MiB", "30s", "1.5". */
void tc_value_write(enum tc_unit unit, int64_t value, char out[TC_VALUE_TEXT_SIZE]);

#endif
