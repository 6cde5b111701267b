/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the operator has installed for tools (`setup` in the policy): kept by cache key in
 * toolcage's own state directory, shown to the tool's calls read-only. A tree is whole or it is not
 * there: an install works in a place of its own, and one rename makes that the tree. */
#ifndef TC_CALL_HOST_INSTALL_H
#define TC_CALL_HOST_INSTALL_H

#include "base/error.h"
#include "policy/policy.h"

/* ---- install_store.c: the directory ---- */

/* One install's place, while it runs. */
struct tc_install_stage {
    int all, own; /* the directory of all of them; its own, locked */
    char *name;   /* in that: what has it at the end is removed */
    char *tree;   /* the path of what comes to be kept */
    bool again;   /* there is one already, and it is to be replaced */
    char key[TC_DIGEST_SIZE];
};

/* NULL where this user has no state directory; *ret is owned. False: out of memory. */
bool tc_install_directory(const struct tc_facts *facts, char **ret);
/* The path of what is kept under the key; owned. NULL: nothing is, errno ENOMEM or another. */
char *tc_install_find(const struct tc_facts *facts, const char *key);
/* What that takes of the disk; -1 where it cannot be told. */
int64_t tc_install_bytes(const struct tc_facts *facts, const char *key);
/* All that is kept of this user's, whatever policy it is of. 0 or TOOLCAGE_EMEMORY. */
struct tc_kept_installs {
    unsigned count;
    int64_t bytes;
};
int tc_install_sizes(const struct tc_facts *facts, struct tc_kept_installs *ret);
int tc_stage_begin(const struct tc_facts *facts, const char *key, struct tc_install_stage **ret,
                   struct toolcage_error **err);
/* Whole, and under its key from now on. Where another install was first, that one's stays. */
int tc_stage_keep(struct tc_install_stage *stage, struct toolcage_error **err);
/* Removes what was not kept. NULL is fine. */
void tc_stage_free(struct tc_install_stage *stage);
/* Removes what installs that were killed left half-made; one that runs keeps its own. *ret counts.
 */
int tc_install_sweep(const struct tc_facts *facts, unsigned *ret, struct toolcage_error **err);
/* Throws away what is kept under the key, or (NULL) everything. *ret counts. */
int tc_install_remove(const struct tc_facts *facts, const char *key, unsigned *ret,
                      struct toolcage_error **err);

/* ---- install.c ---- */

/* The cache key: what the policy says, and what is in the inputs. */
int tc_install_key(const struct toolcage_policy *policy, const struct tc_install *install,
                   char ret[TC_DIGEST_SIZE], struct toolcage_error **err);
/* A tool's grant gets what is installed for it. Where nothing is the call is refused; `explain`
 * only says so. */
int tc_install_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      bool explain, struct tc_grant *grant, struct toolcage_error **err);
/* The grant of "x.setup" gets its inputs and the place to install into. *ret is freed by
 * tc_stage_free(), also on failure. */
int tc_install_begin(const struct toolcage_policy *policy, const struct tc_facts *facts,
                     struct tc_grant *grant, struct tc_install_stage **ret,
                     struct toolcage_error **err);
/* The same for who only wants to see the grant: nothing is made, and inputs need not be there. */
int tc_install_suppose(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err);
/* The install ended well: what it left is kept, if the inputs are what they were. */
int tc_install_keep(const struct toolcage_policy *policy, const char *name,
                    struct tc_install_stage *stage, struct toolcage_error **err);

/* As toolcage_policy_setups_json(). */
int tc_policy_installs(const struct toolcage_policy *policy, const char *tool, const char *action,
                       char **ret_json, struct toolcage_error **err);

#endif
