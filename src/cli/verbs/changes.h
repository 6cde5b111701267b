/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes that wait for an answer, asked for where there is a person. */
#ifndef TC_CLI_VERBS_CHANGES_H
#define TC_CLI_VERBS_CHANGES_H

#include "cli/cli.h"

/* A call's changes wait for a yes: asks for it at the terminal, where there is one, and says what
 * became of them, or how to decide later. 0, or the exit code of a failure. */
int tc_changes_ask(struct toolcage_engine *engine, const struct toolcage_result *result);

/* TOOLCAGE_SETTLE_… for "commit", "overwrite" or "discard". */
static inline int32_t tc_settle_of(const char *action)
{
    return action[0] == 'c'   ? TOOLCAGE_SETTLE_COMMIT
           : action[0] == 'o' ? TOOLCAGE_SETTLE_OVERWRITE
                              : TOOLCAGE_SETTLE_DISCARD;
}

#endif
