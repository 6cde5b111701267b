/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy from what a call touched. */
#ifndef TC_CALL_LEARN_H
#define TC_CALL_LEARN_H

#include "call/call.h"

int tc_call_learned_policy(const struct toolcage_call *call, const char *name, char **ret_policy,
                           struct toolcage_error **err);

#endif
