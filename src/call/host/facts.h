/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The caller's surroundings, read at each call: a host may change its working directory and its
 * environment between calls. */
#ifndef TC_CALL_HOST_FACTS_H
#define TC_CALL_HOST_FACTS_H

#include "base/error.h"
#include "base/strv.h"
#include "policy/policy.h"

struct tc_surroundings {
    char *cwd, *home, *state, *config, *images;
    char *real_home, *real_state, *real_config, *real_images;
    struct tc_strv homes;
    struct tc_facts facts; /* borrows from the above */
};

/* The caller frees *ret also on failure. Facts that need a look at the host's files are read on
 * demand (tc_facts_look); until then *ret must not move. */
int tc_surroundings_begin(struct tc_surroundings *ret, struct toolcage_error **err);
/* All facts at once. */
int tc_surroundings_gather(struct tc_surroundings *ret, struct toolcage_error **err);
void tc_surroundings_done(struct tc_surroundings *s);
/* The calling thread's umask, from /proc: umask() would change it for the host's other threads. */
int64_t tc_caller_umask(void);
#define _autosurroundings_ _auto_(tc_surroundings_done)

/* Reads and compiles a policy file. */
int tc_policy_load_file(const char *path, struct toolcage_policy **ret,
                        struct toolcage_error **err);
/* Reads and compiles policy text; `name` is the file in messages and, if it contains a '/', its
 * directory is the base of relative paths. */
int tc_policy_load_buffer(const char *text, size_t length, const char *name,
                          struct toolcage_policy **ret, struct toolcage_error **err);

/* A profile as the policy of a bare command; a call's options may widen it. */
int tc_policy_new_preset(const char *name, struct toolcage_policy **ret,
                         struct toolcage_error **err);

/* The reader for the file name's extension. */
tc_document_reader *tc_reader_of(const char *name);

/* As toolcage_policy_allow_text. */
int tc_policy_allow(const char *text, size_t length, const char *name, const char *tool,
                    const char *access, char **ret, struct toolcage_error **err);

/* As toolcage_policy_written. */
int tc_policy_tool_writable(const struct toolcage_policy *policy, const char *path,
                            const char *workspace, struct toolcage_error **err);

/* ---- homes.c ---- */

/* The home directories of $HOME (NULL: unset) and, from /etc/passwd, of the caller, of the user
 * who ran sudo, and of all users with a login shell; each also without symbolic links. Other
 * user databases are not queried: homes of their users are unknown. `ret_own`: is one of them
 * the caller's? False: out of memory, which must not look like an empty list. */
bool tc_homes(const char *home, struct tc_strv *ret, bool *ret_own);

/* Paths in a home that stay denied when the whole home is granted: directories with a leading
 * dot, except those of compilers and interpreters, and the targets of links at credential paths.
 * Absolute; empty when there is no such home. False: it cannot be listed, or out of memory. */
bool tc_home_closed(const char *home, struct tc_strv *ret);

#endif
