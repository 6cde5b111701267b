/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs one call from start to exit code: passes standard input and output, cancels it on a signal,
 * and reports its result. */
#ifndef TC_CLI_CALL_RUN_H
#define TC_CLI_CALL_RUN_H

#include "cli/call/setup.h"

/* Does --stdin pass standard input? By default it does, unless a person would have to type it (a
 * terminal) or it is empty (the null device). 0, or the exit code after an error message. */
int tc_input_choose(const struct tc_args *args, bool *ret);

/* Runs setup->call. `input`: pass standard input. Returns the exit code. */
int tc_run(struct tc_setup *setup, const struct tc_args *args, const char *tool, bool input);
/* Runs a call without input and discards its output. 0, or -1 with the failure. */
int tc_run_silent(struct toolcage_call *call, struct tc_failure *failure);

/* ---- terminal.c: connects a call's terminal to the user's ---- */

/* Are standard input and output a terminal? */
bool tc_terminal_is_one(void);
/* What a user's terminal is connected to: a call, or the owner of one. The functions get `context`.
 */
struct tc_user_terminal;
struct tc_terminal_peer {
    /* Before the terminal is raw: 0, or -1 with the failure. */
    int (*prepare)(void *context, struct tc_user_terminal *user, int rows, int columns,
                   struct tc_failure *failure);
    int (*start)(void *context, struct tc_failure *failure);
    int (*fd)(void *context); /* readable: call dispatch() */
    /* 1: it has ended, 0: not yet, -1 with the failure. Passes output on. */
    int (*dispatch)(void *context, struct tc_failure *failure);
    int (*resize)(void *context, int rows, int columns); /* -1: try again */
    void (*cancel)(void *context);
};
/* Called by a peer: shows output; takes the fd that the keyboard's input is written to. */
void tc_terminal_show(struct tc_user_terminal *user, const void *bytes, size_t length);
int tc_terminal_take_input(struct tc_user_terminal *user, int fd);
/* Connects the user's terminal until the peer has ended. Returns as tc_terminal_run(). */
int tc_terminal_connect(const struct tc_terminal_peer *peer, void *context, int *ret_signal,
                        struct tc_failure *failure);
/* Starts the call with a terminal of the same size and displays it until the call ends. The user's
 * terminal is in raw mode meanwhile and is restored afterwards. *ret_signal: the last signal that
 * requested the end, or 0. 0, or -1 with the failure. */
int tc_terminal_run(struct toolcage_call *call, int *ret_signal, struct tc_failure *failure);

/* ---- question.c: staged changes ---- */

struct tc_person;

/* Asks at the terminal, if there is one, whether to apply a call's staged changes. Without one, and
 * with `queue` (a word that says which program waits; NULL: no queue), waits for `toolcage
 * approvals`. Reports the outcome, or how to decide later. 0, or the exit code of a failure. */
int tc_changes_ask(struct toolcage_engine *engine, const struct toolcage_result *result,
                   const char *queue);
/* How many changes were settled; none: the person did not decide. */
struct tc_decided {
    size_t applied, discarded, left;
};
struct tc_queued;
struct tc_queue_claim;
/* A request in the queue about the changes, which is claimed before any is settled. */
struct tc_waiting_request {
    const struct tc_queued *request;
    struct tc_queue_claim *claim;
};
/* Shows the staged changes of the call with this id to the person, asks, and settles them as
 * answered. `asked` NULL: there is no request. 0, or the exit code of a failure. */
int tc_changes_decide(struct toolcage_engine *engine, const char *call,
                      const struct tc_person *person, const struct tc_waiting_request *asked,
                      struct tc_decided *ret);

/* TOOLCAGE_SETTLE_… for "commit", "overwrite", "steering" or "discard". */
static inline int32_t tc_settle_of(const char *action)
{
    return action[0] == 'c'   ? TOOLCAGE_SETTLE_COMMIT
           : action[0] == 'o' ? TOOLCAGE_SETTLE_OVERWRITE
           : action[0] == 's' ? TOOLCAGE_SETTLE_STEERING
                              : TOOLCAGE_SETTLE_DISCARD;
}

#endif
