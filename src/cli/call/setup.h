/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every verb about a call begins with: the policy found, an engine, a call with the options'
 * narrowings in it. */
#ifndef TC_CLI_CALL_SETUP_H
#define TC_CLI_CALL_SETUP_H

#include <stdint.h>

#include "cli/call/lookup.h"

struct tc_setup {
    struct tc_found found;
    struct toolcage_engine *engine;
    struct toolcage_call *call;
    bool aside; /* the tool's standard output goes to standard error, because ours is something else
                 */
    int64_t policy_us, engine_us; /* how long the two took */
};

/* 0, or -1 with the failure; closed by tc_setup_close() in both cases. */
int tc_setup_open(const struct tc_args *args, const char *tool, enum tc_lookup_flags flags,
                  struct tc_setup *ret, struct tc_failure *failure);
/* The words as the call's command; none: the tool's own. */
int tc_setup_command(struct tc_setup *setup, char *const words[], size_t count,
                     struct tc_failure *failure);
void tc_setup_close(struct tc_setup *setup);

#define _autosetup_ __attribute__((cleanup(tc_setup_close)))

#endif
