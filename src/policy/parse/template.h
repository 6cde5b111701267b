/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Places for arguments in texts of the policy: {NAME}, {NAME...}, {*}. Every other brace is
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

/* The first place in text, or false. */
bool tc_hole_find(const char *text, struct tc_hole *ret);
/* Is it a name that a place can hold? */
bool tc_hole_name_fine(const char *name);

#endif
