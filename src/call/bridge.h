/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The cage of an MCP server that runs elsewhere: toolcage-bridge, which connects to it. */
#ifndef TC_CALL_BRIDGE_H
#define TC_CALL_BRIDGE_H

#include "base/error.h"
#include "policy/policy.h"

/* For a server with a URL: makes the program readable in the cage, and completes its command by
 * the server's place in the policy and the names of its secrets, for messages. */
int tc_bridge_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                     struct tc_grant *grant, struct toolcage_error **err);

#endif
