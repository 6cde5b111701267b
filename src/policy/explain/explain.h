/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verdict of a grant on one access. Used by explain, by policy tests and by hints. */
#ifndef TC_POLICY_EXPLAIN_EXPLAIN_H
#define TC_POLICY_EXPLAIN_EXPLAIN_H

#include "policy/model.h"

struct tc_verdict {
    bool allowed;
    const char *access; /* the question; borrowed */
    char *target;       /* the access's clean path or host:port */
    char *key;          /* the deciding key; "" for a rule that always applies */
    uint32_t line;
    char *entry; /* the deciding entry of that key: its path or endpoint; NULL: none */
    bool half;   /* a copy failed: never returned */
    char *reason, *hint;
    enum tc_clause clause; /* the clause that a backend must enforce for this verdict */
};

/* `access` is "read P", "write P", "exec P" or "connect H:P". TOOLCAGE_EUSAGE for anything else. */
int tc_policy_verdict(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, struct tc_verdict *ret, struct toolcage_error **err);

/* Resolves the call again, with arguments that name `target`. */
typedef int tc_supposer(void *call, const char *target, struct tc_grant *ret,
                        struct toolcage_error **err);

/* The same, and if a denied access is what an argument of the model grants (`resolve`; may be
 * NULL), the verdict of the grant with it, which replaces *ret_grant (may be `grant`, or NULL). */
int tc_policy_suppose(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, tc_supposer *resolve, void *call, struct tc_verdict *ret,
                      struct tc_grant *ret_grant, struct toolcage_error **err);
/* The smallest clause for the path, quoted: a user who copies it must grant only this path,
 * whatever characters its name contains. Owned; NULL when out of memory. */
char *tc_path_clause(const struct toolcage_policy *policy, const char *path, bool write);
void tc_verdict_done(struct tc_verdict *verdict);

/* Adds the member "mcp": the rules of a server for the messages between it and its client; null for
 * other tools. */
void tc_server_explain(struct tc_buf *out, const struct toolcage_policy *policy, const char *name);

#endif
