/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The answer to policy/lint/starts.h, from the files of this machine. */
#ifndef TC_CALL_HOST_STARTS_H
#define TC_CALL_HOST_STARTS_H

#include "policy/grant.h"
#include "policy/lint/starts.h"

tc_starts_fn tc_starts_look;
/* The same of what a grant shows. */
bool tc_starts_of_grant(const struct tc_grant *grant, const char *home, const char *command,
                        struct tc_starts *ret);
/* ... from the first place on the cage's PATH where something of that name is; else *ret stays
 * empty. */
bool tc_starts_on_path(const struct tc_grant *grant, const char *home, const char *name,
                       struct tc_starts *ret);
/* Something is there, and needs what is not. */
bool tc_starts_lacks(const struct tc_starts *starts);

#endif
