/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which entries of a policy its tests have asked about: each granted or denied path, endpoint and
 * unix socket, and each bound of an argument. */
#ifndef TC_POLICY_EXPLAIN_COVERAGE_H
#define TC_POLICY_EXPLAIN_COVERAGE_H

#include "base/buf.h"
#include "policy/model.h"

struct tc_covered {
    char *key, *what;
    uint32_t line;
    bool seen;
};

struct tc_coverage {
    struct tc_covered *items; /* sorted by key and what */
    size_t count;
};

bool tc_coverage_new(const struct toolcage_policy *policy, struct tc_coverage *ret);
/* That entry of that key decided; one that the policy does not hold is no matter. */
void tc_coverage_see(struct tc_coverage *c, const char *key, const char *what);
/* A call of this tool with these arguments was granted: the bounds that their values are within.
 * False: out of memory. */
bool tc_coverage_see_arguments(struct tc_coverage *c, const struct tc_spec *tool,
                               const char *arguments);
/* {"covered", "total", "missing": [{key, what, line}]} */
void tc_coverage_write(const struct tc_coverage *c, const struct toolcage_policy *policy,
                       struct tc_buf *out);
void tc_coverage_done(struct tc_coverage *c);

#endif
