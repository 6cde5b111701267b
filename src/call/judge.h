/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Judging a policy without a call: what the policy layer cannot know by itself is brought to it. */
#ifndef TC_CALL_JUDGE_H
#define TC_CALL_JUDGE_H

#include "base/error.h"
#include "policy/explain/test.h"

/* As toolcage_policy_lint_json. */
int tc_policy_lint_here(const struct toolcage_policy *policy, const char *text, size_t length,
                        const char *suffixes, size_t suffixes_len, char **ret,
                        struct toolcage_error **err);
/* As toolcage_policy_test_json. */
int tc_policy_test_here(const struct toolcage_policy *policy, const struct tc_test_texts *tests,
                        char **ret, struct toolcage_error **err);

#endif
