/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The egress proxy alone, without a cage. */
#ifndef TC_CALL_SIDECAR_H
#define TC_CALL_SIDECAR_H

#include "base/error.h"
#include "policy/policy.h"

/* As toolcage_policy_egress. */
int tc_sidecar(const struct toolcage_policy *policy, const char *tool, const int *listeners,
               size_t count, int *ret, struct toolcage_error **err);

#endif
