/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The answer to policy/starts.h, from the files of this machine. */
#ifndef TC_CALL_STARTS_H
#define TC_CALL_STARTS_H

#include "policy/grant.h"
#include "policy/starts.h"

tc_starts_fn tc_starts_look;
/* The same of what a grant shows. */
bool tc_starts_of_grant(const struct tc_grant *grant, const char *home, const char *command,
                        struct tc_starts *ret);

#endif
