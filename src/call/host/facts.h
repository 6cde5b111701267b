/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The caller's surroundings, gathered at each call: a host may change its working directory and its
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

/* The caller frees *ret also on failure. What costs a look at the machine's files comes when it is
 * asked for (tc_facts_look); until then *ret stays where it is. */
int tc_surroundings_begin(struct tc_surroundings *ret, struct toolcage_error **err);
/* The whole of it at once. */
int tc_surroundings_gather(struct tc_surroundings *ret, struct toolcage_error **err);
void tc_surroundings_done(struct tc_surroundings *s);
#define _autosurroundings_ _auto_(tc_surroundings_done)

/* Reads and compiles a policy file. */
int tc_policy_load_file(const char *path, struct toolcage_policy **ret,
                        struct toolcage_error **err);
/* The same from memory; `name` gives messages their file and, when it has a '/', paths their start.
 */
int tc_policy_load_buffer(const char *text, size_t length, const char *name,
                          struct toolcage_policy **ret, struct toolcage_error **err);

/* By the ending of the file's name. */
tc_document_reader *tc_reader_of(const char *name);

/* As toolcage_policy_allow_text. */
int tc_policy_allow(const char *text, size_t length, const char *name, const char *tool,
                    const char *access, char **ret, struct toolcage_error **err);

/* As toolcage_policy_written. */
int tc_policy_tool_writable(const struct toolcage_policy *policy, const char *path,
                            const char *workspace, struct toolcage_error **err);

/* ---- homes.c ---- */

/* $HOME (NULL: unset), and by /etc/passwd those of the caller, of whom it is for by sudo, and of
 * all who log in; each also without the links on its way. Other sources of users are not asked: who
 * is in none of these has no home that is known. `ret_own`: is one of them the caller's? False: out
 * of memory, which must not look like nobody's home. */
bool tc_homes(const char *home, struct tc_strv *ret, bool *ret_own);

/* The places in a home that are closed where it is granted as a whole: directories with a dot but
 * for those of compilers and interpreters, and what links at the places of credentials lead to.
 * Absolute; none where there is no such home. False: it cannot be listed, or no memory. */
bool tc_home_closed(const char *home, struct tc_strv *ret);

#endif
