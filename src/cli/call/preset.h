/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A shipped profile as the policy of one command, for who has no policy file. */
#ifndef TC_CLI_CALL_PRESET_H
#define TC_CLI_CALL_PRESET_H

#include "cli/call/lookup.h"

/* Completion offers these; every other profile is accepted, too. */
#define TC_OPTION_PRESET                                                                     \
    {                                                                                        \
        "preset", 0, "python|node|git|build|PROFILE", NULL, "the grant of a shipped profile" \
    }

/* The policy that is nothing but the profile. 0 or -1. */
int tc_preset_open(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure);

#endif
