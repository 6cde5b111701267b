/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is allowed in a policy, and dangerous, useless or impossible all the same. It refuses
 * nothing and grants nothing: findings for the operator, who mends them or says why not. */
#ifndef TC_POLICY_LINT_LINT_H
#define TC_POLICY_LINT_LINT_H

#include "policy/feature.h"
#include "policy/lint/starts.h"
#include "policy/policy.h"

struct tc_lint_backend {
    const char *name;
    tc_clauses provides;
    tc_features has;
    bool no_boundary;
};

/* What the policy cannot know by itself. All borrowed. */
struct tc_lint_facts {
    const struct tc_lint_backend *backends; /* of this version */
    size_t backend_count;
    const char *suffixes; /* the public suffix list; NULL: not at hand */
    size_t suffixes_len;
    /* Who looks at this machine's files; each NULL: nobody. */
    tc_starts_fn *starts;
    /* What `programs` makes readable, appended; false: that cannot be told. */
    bool (*brings)(const struct toolcage_policy *policy, const struct tc_strv *programs,
                   struct tc_strv *ret);
    /* Where a program of that name is, first among those of every cage; NULL: nowhere. Owned. */
    char *(*finds)(const char *name);
};

/* The findings as JSON (as toolcage_policy_lint_json says); *ret is owned. `text` is what the
 * policy was compiled from. */
int tc_policy_lint(const struct toolcage_policy *policy, const char *text, size_t length,
                   const struct tc_lint_facts *facts, char **ret, struct toolcage_error **err);

#endif
