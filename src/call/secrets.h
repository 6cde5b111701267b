/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Values of secrets, from where the policy says they are to a memory file that only the proxy
 * reads.
 */
#ifndef TC_CALL_SECRETS_H
#define TC_CALL_SECRETS_H

#include "base/error.h"
#include "policy/policy.h"

/* The values of the grant's secrets, in its order, in a sealed memory file that the caller closes;
 * -1 in *ret_fd where it has none. 0 or a negative code. No message holds a part of a value. */
int tc_secrets_read(const struct toolcage_policy *policy, const struct tc_grant *grant, int *ret_fd,
                    struct toolcage_error **err);

#endif
