/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The profiles of profiles/, as they are shipped in the library. */
#ifndef TC_POLICY_PARSE_PROFILES_H
#define TC_POLICY_PARSE_PROFILES_H

struct tc_profile {
    const char *name, *text;
};

/* Ends with a row whose name is NULL. */
extern const struct tc_profile tc_profiles[];

#endif
