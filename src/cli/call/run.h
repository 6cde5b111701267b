/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One call from start to exit code: our standard input is pumped into it, its output comes through,
 * a signal cancels it, and what is to be said of its result is said. */
#ifndef TC_CLI_CALL_RUN_H
#define TC_CLI_CALL_RUN_H

#include "cli/call/setup.h"

/* Runs setup->call. `input`: standard input passes. Returns the exit code. */
int tc_run(struct tc_setup *setup, const struct tc_args *args, const char *tool, bool input);
/* To its end, without input, and nothing of it is shown or said. 0, or -1 with the failure. */
int tc_run_silent(struct toolcage_call *call, struct tc_failure *failure);

/* ---- terminal.c: the terminal of a started call on that of the person ---- */

/* Are standard input and output a terminal? */
bool tc_terminal_is_one(void);
/* Starts the call, to which it gives a terminal of the same size, and shows it until it ends:
 * raw while it lasts, and as it was afterwards. *ret_signal: the last signal that asked for the
 * end, or 0. 0, or -1 with the failure. */
int tc_terminal_run(struct toolcage_call *call, int *ret_signal, struct tc_failure *failure);

/* ---- question.c: changes that wait for an answer ---- */

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

/* ---- terminal.c ---- */

/* Are standard input and output a terminal? */
bool tc_terminal_is_one(void);
/* Starts the call, to which it gives a terminal of the same size, and shows it until it ends.
 * *ret_signal: the last signal that asked for the end, or 0. 0, or -1 with the failure. */
int tc_terminal_run(struct toolcage_call *call, int *ret_signal, struct tc_failure *failure);

#endif
