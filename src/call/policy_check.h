/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Public policy functions that do not run calls. They pass facts of the host to the policy
 * layer, which makes no system call. */
#ifndef TC_CALL_POLICY_CHECK_H
#define TC_CALL_POLICY_CHECK_H

#include "base/error.h"
#include "call/call.h"
#include "policy/explain/run_cases.h"
#include "policy/policy.h"

/* As toolcage_policy_lint_json. */
int tc_policy_lint_here(const struct toolcage_policy *policy, const char *text, size_t length,
                        const char *suffixes, size_t suffixes_len, char **ret,
                        struct toolcage_error **err);
/* As toolcage_policy_test_json. */
int tc_policy_test_here(const struct toolcage_policy *policy, const struct tc_test_texts *tests,
                        char **ret, struct toolcage_error **err);

/* A policy from the accesses of a call: as toolcage_call_learned_policy. */
int tc_call_learned_policy(const struct toolcage_call *call, const char *name, char **ret_policy,
                           struct toolcage_error **err);

/* The egress proxy alone, without a cage: as toolcage_policy_egress. */
int tc_sidecar(const struct toolcage_policy *policy, const char *tool, const int *listeners,
               size_t count, int *ret, struct toolcage_error **err);

#endif
