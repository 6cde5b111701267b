/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files that the operator has installed for tools (`setup` in the policy). They are stored by
 * cache key in toolcage's state directory and shown read-only to the tool's calls. A tree is
 * complete or absent: an install works in a staging directory, and one rename turns it into the
 * tree. */
#ifndef TC_CALL_HOST_INSTALL_H
#define TC_CALL_HOST_INSTALL_H

#include "base/error.h"
#include "policy/policy.h"

/* ---- install_store.c: the directory ---- */

/* The staging directory of one running install. */
struct tc_install_stage {
    int all, own; /* the parent of all installs; the staging directory, locked */
    char *name; /* name of the staging directory in `all`; removed at the end if it still exists */
    char *tree; /* the path of the tree to be stored */
    bool again; /* a tree exists under this key and will be replaced */
    char key[TC_DIGEST_SIZE];
};

/* NULL where this user has no state directory; *ret is owned. False: out of memory. */
bool tc_install_directory(const struct tc_facts *facts, char **ret);
/* The path of the tree stored under the key; owned. NULL with errno: none is stored, or ENOMEM. */
char *tc_install_find(const struct tc_facts *facts, const char *key);
/* Disk usage of that tree; -1 where it is unknown. */
int64_t tc_install_bytes(const struct tc_facts *facts, const char *key);
/* All installs of this user, of every policy. 0 or TOOLCAGE_EMEMORY. */
struct tc_kept_installs {
    unsigned count;
    int64_t bytes;
};
int tc_install_sizes(const struct tc_facts *facts, struct tc_kept_installs *ret);
int tc_stage_begin(const struct tc_facts *facts, const char *key, struct tc_install_stage **ret,
                   struct toolcage_error **err);
/* The tree is complete and is stored under its key. If another install stored its tree first,
 * that tree stays. */
int tc_stage_keep(struct tc_install_stage *stage, struct toolcage_error **err);
/* Removes the staging directory unless its tree was stored. NULL is fine. */
void tc_stage_free(struct tc_install_stage *stage);
/* Removes unfinished trees of killed installs, but not those of running installs. *ret counts
 * them. */
int tc_install_sweep(const struct tc_facts *facts, unsigned *ret, struct toolcage_error **err);
/* Removes the tree stored under the key, or (NULL) all trees. *ret counts them. */
int tc_install_remove(const struct tc_facts *facts, const char *key, unsigned *ret,
                      struct toolcage_error **err);

/* ---- install.c ---- */

/* The cache key: a digest of the policy's `setup` and of the contents of its inputs. */
int tc_install_key(const struct toolcage_policy *policy, const struct tc_install *install,
                   char ret[TC_DIGEST_SIZE], struct toolcage_error **err);
/* Adds the tool's installed tree to its grant. Without a tree the call is refused; `explain`
 * only reports that. */
int tc_install_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      bool explain, struct tc_grant *grant, struct toolcage_error **err);
/* Adds the inputs and the staging directory to the grant of "x.setup". *ret is freed by
 * tc_stage_free(), also on failure. */
int tc_install_begin(const struct toolcage_policy *policy, const struct tc_facts *facts,
                     struct tc_grant *grant, struct tc_install_stage **ret,
                     struct toolcage_error **err);
/* The same grant for `explain`: nothing is created, and inputs may be missing. */
int tc_install_suppose(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err);
/* The install succeeded: its tree is stored, if the inputs have not changed. */
int tc_install_keep(const struct toolcage_policy *policy, const char *name,
                    struct tc_install_stage *stage, struct toolcage_error **err);

/* As toolcage_policy_setups_json(). */
int tc_policy_installs(const struct toolcage_policy *policy, const char *tool, const char *action,
                       char **ret_json, struct toolcage_error **err);

#endif
