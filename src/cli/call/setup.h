/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The first steps of every verb that runs a call: find the policy, create an engine, and create a
 * call with the options' narrowings. */
#ifndef TC_CLI_CALL_SETUP_H
#define TC_CLI_CALL_SETUP_H

#include <stdint.h>

#include "cli/call/lookup.h"

struct tc_setup {
    struct tc_found found;
    struct toolcage_engine *engine;
    struct toolcage_call *call;
    bool aside; /* the tool's standard output goes to standard error, because standard output has
                   another use */
    const char *job;              /* text of a progress line while the tool is silent; NULL: none */
    int64_t policy_us, engine_us; /* duration of both steps */
};

/* 0, or -1 with the failure; call tc_setup_close() in both cases. */
int tc_setup_open(const struct tc_args *args, const char *tool, enum tc_lookup_flags flags,
                  struct tc_setup *ret, struct tc_failure *failure);
/* Sets the call's command; without words the tool's own command is used. */
int tc_setup_command(struct tc_setup *setup, char *const words[], size_t count,
                     struct tc_failure *failure);
void tc_setup_close(struct tc_setup *setup);

#define _autosetup_ __attribute__((cleanup(tc_setup_close)))

#endif
