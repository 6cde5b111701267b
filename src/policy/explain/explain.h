/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One access asked of a grant. The same question is asked by explain, by tests of a policy, and by
 * hints. */
#ifndef TC_POLICY_EXPLAIN_EXPLAIN_H
#define TC_POLICY_EXPLAIN_EXPLAIN_H

#include "policy/model.h"

struct tc_verdict {
    bool allowed;
    char *target; /* what was asked: a clean path, or host:port */
    char *key;    /* what decided; "" for what holds always */
    uint32_t line;
    char *entry; /* which entry of that key: its path or endpoint; NULL: none */
    bool half;   /* a copy failed: never told */
    char *reason, *hint;
    enum tc_clause clause; /* what a backend must enforce for this to hold */
};

/* `access` is "read P", "write P", "exec P" or "connect H:P". TOOLCAGE_EUSAGE for anything else. */
int tc_policy_verdict(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, struct tc_verdict *ret, struct toolcage_error **err);
void tc_verdict_done(struct tc_verdict *verdict);

#endif
