/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which policy holds: the one named by --policy or $TOOLCAGE_POLICY (the operator's own word,
 * unless a tool may have written it: then it is to be trusted, too); the nearest toolcage.toml
 * (.yaml, .yml) upward from the working directory, if it is trusted; the user's own, of the same
 * names; or the strictest useful default. A file that is found and not usable ends the search: it
 * is never skipped. */
#ifndef TC_CLI_CALL_LOOKUP_H
#define TC_CLI_CALL_LOOKUP_H

#include "cli/show/failure.h"

#define TC_POLICY_NAME "toolcage.toml"

enum tc_lookup_flags {
    TC_LOOKUP_TRUSTED,
    TC_LOOKUP_ANY,    /* also an untrusted one: nothing will run */
    TC_LOOKUP_DEFAULT /* none: the strictest useful default */
};

struct tc_found {
    struct toolcage_policy *policy;
    char *path; /* NULL: the default policy */
    bool untrusted;
    bool preset; /* a shipped profile: the path is its name, and no file */
};

int tc_lookup(const char *given, enum tc_lookup_flags flags, struct tc_found *ret,
              struct tc_failure *failure);
void tc_found_done(struct tc_found *found);
/* The command that trusts what was read there, and nothing else. Owned; NULL without memory. */
char *tc_found_trust_command(const struct tc_found *found);

/* The path of the policy file that a lookup would use: owned, *ret NULL when there is none.
 * *ret_nearest tells that trust is needed. 0 or -1. */
int tc_lookup_path(const char *given, char **ret, bool *ret_nearest, struct tc_failure *failure);

/* The one policy in `directory` ("" is the root), by its name: owned, *ret NULL when there is none;
 * two are an error. What cannot be looked at counts as there. 0 or -1. */
int tc_lookup_in(const char *directory, char **ret, struct tc_failure *failure);

/* Can this file be found from the working directory, by its name, and not be the user's own? */
bool tc_lookup_wants_trust(const char *path);

/* The file named, or the one that a lookup would use: owned; NULL with the failure. */
char *tc_lookup_named(const char *given, struct tc_failure *failure);

/* Completion offers these; every other profile is accepted, too. */
#define TC_OPTION_PRESET                                                                     \
    {                                                                                        \
        "preset", 0, "python|node|git|build|PROFILE", NULL, "the grant of a shipped profile" \
    }

/* The policy that is nothing but the profile. 0 or -1. */
int tc_preset_open(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure);

#define _autofound_ __attribute__((cleanup(tc_found_done)))

#endif
