/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Selects the policy: the file in --policy or $TOOLCAGE_POLICY (chosen by the operator, but must be
 * trusted if a tool may have written it); else the nearest toolcage.toml (.yaml, .yml) upward from
 * the working directory, if it is trusted; else the user's own file of that name; else the
 * strictest useful default. An unusable file ends the search; it is never skipped. */
#ifndef TC_CLI_CALL_LOOKUP_H
#define TC_CLI_CALL_LOOKUP_H

#include "cli/show/failure.h"

#define TC_POLICY_NAME "toolcage.toml"

enum tc_lookup_flags {
    TC_LOOKUP_TRUSTED,
    TC_LOOKUP_ANY,    /* also an untrusted policy, for verbs that run nothing */
    TC_LOOKUP_DEFAULT /* always the strictest useful default */
};

struct tc_found {
    struct toolcage_policy *policy;
    char *path; /* NULL: the default policy */
    bool untrusted;
    bool preset; /* a shipped profile: `path` is its name, not a file */
};

int tc_lookup(const char *given, enum tc_lookup_flags flags, struct tc_found *ret,
              struct tc_failure *failure);
void tc_found_done(struct tc_found *found);
/* The command that trusts exactly the policy that was read. Owned; NULL if memory is exhausted. */
char *tc_found_trust_command(const struct tc_found *found);

/* The path of the policy file that a lookup would use: owned; *ret NULL if there is none.
 * *ret_nearest: it must be trusted. 0 or -1. */
int tc_lookup_path(const char *given, char **ret, bool *ret_nearest, struct tc_failure *failure);

/* The policy in `directory` ("" is the root): owned; *ret NULL if there is none. Two policies are
 * an error. A file that cannot be inspected counts as existing. 0 or -1. */
int tc_lookup_in(const char *directory, char **ret, struct tc_failure *failure);

/* Can a lookup from a working directory find this file, and is it not the user's own policy? */
bool tc_lookup_wants_trust(const char *path);

/* The named file, or the file that a lookup would use: owned; NULL with the failure. */
char *tc_lookup_named(const char *given, struct tc_failure *failure);

/* Completion offers these names; every other profile is accepted, too. */
#define TC_OPTION_PRESET                                                                     \
    {                                                                                        \
        "preset", 0, "python|node|git|build|PROFILE", NULL, "the grant of a shipped profile" \
    }

/* Compiles a policy that only extends the profile. 0 or -1. */
int tc_preset_open(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure);

#define _autofound_ __attribute__((cleanup(tc_found_done)))

#endif
