/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Placeholders for arguments in strings of the policy: {NAME}, {NAME...}, {*}. Every other brace is
 * literal. */
#ifndef TC_POLICY_PARSE_TEMPLATE_H
#define TC_POLICY_PARSE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

struct tc_hole {
    const char *start, *end; /* the braces included; borrowed */
    const char *name;
    size_t name_len;
    bool spread; /* {NAME...} */
    bool all;    /* {*} */
};

/* Finds the first placeholder. False: none. */
bool tc_hole_find(const char *text, struct tc_hole *ret);
/* Is it a valid name in a placeholder? */
bool tc_hole_name_fine(const char *name);

#endif
