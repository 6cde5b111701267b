/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy that was learned, tried: its tool is called once, and nothing of that reaches this
 * machine. */
#ifndef TC_CLI_CALL_TRIAL_H
#define TC_CLI_CALL_TRIAL_H

#include "cli/show/failure.h"

struct tc_trial_told {
    bool fits;   /* it ended as the run that was learned from */
    bool lacks;  /* it could not start, or was refused something */
    char *lines; /* what is to be said of it, each line with its end; NULL: nothing */
};

/* `words` are given where the tool has no command; `code` is the exit code that is wanted. 0, or -1
 * with the failure. */
int tc_trial_run(struct toolcage_engine *engine, const char *policy, char *const words[],
                 size_t word_count, int code, struct tc_trial_told *ret,
                 struct tc_failure *failure);
void tc_trial_done(struct tc_trial_told *trial);

#define _autotrial_ __attribute__((cleanup(tc_trial_done)))

#endif
