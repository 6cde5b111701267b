/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * May a tool have written a file that a program outside of the library is about to obey? */
#ifndef TC_CALL_HOST_WRITTEN_H
#define TC_CALL_HOST_WRITTEN_H

#include "base/error.h"
#include "policy/policy.h"

/* As toolcage_policy_written. */
int tc_policy_written(const struct toolcage_policy *policy, const char *path, const char *workspace,
                      struct toolcage_error **err);

#endif
