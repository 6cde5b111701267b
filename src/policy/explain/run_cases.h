/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a policy's tests: each access is checked against the grant that the call would get. The
 * grant is resolved with fixed facts, so that results are the same on every host. */
#ifndef TC_POLICY_EXPLAIN_RUN_CASES_H
#define TC_POLICY_EXPLAIN_RUN_CASES_H

#include "policy/policy.h"

/* Tests in separate files, in addition to the policy's own. All borrowed. */
struct tc_test_texts {
    size_t count;
    const char *const *texts;
    const size_t *lengths;
    const char *const *names;
    tc_document_reader *(*reader)(
        const char *name); /* the reader for a text of this name; NULL: TOML */
};

/* As toolcage_policy_test_json. Of `facts`, only toolcage's own directories are used. */
int tc_policy_test(const struct toolcage_policy *policy, const struct tc_test_texts *tests,
                   const struct tc_facts *facts, char **ret, struct toolcage_error **err);

/* Compiles a text that has only [[test]] tables, for this policy: *ret has only the tests. */
int tc_policy_compile_tests(const struct toolcage_policy *policy, tc_document_reader *reader,
                            const char *text, size_t length, const char *name,
                            struct toolcage_policy **ret, struct toolcage_error **err);

#endif
