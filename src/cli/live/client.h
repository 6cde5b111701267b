/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A client of a live session's owner. */
#ifndef TC_CLI_LIVE_CLIENT_H
#define TC_CLI_LIVE_CLIENT_H

#include "cli/show/failure.h"

/* Runs the operands from `first` on as a command of the session that the first operand names;
 * `input`: with standard input; --tty: with a terminal. Returns the exit code. */
int tc_client_exec(const struct tc_args *args, size_t first, bool input);
/* Sends a request (wire.h) about a detached command, and shows the answer. Returns the exit code.
 */
int tc_client_ask(const struct tc_args *args, const char *name, char kind, const char *text);
/* Ends the session, and prints its result. *ret_none: no session of this name lives, and nothing
 * was printed. Returns the exit code. */
int tc_client_end(const struct tc_args *args, const char *name, bool *ret_none);
/* The description of a session as JSON text, owned; NULL: it does not answer. */
char *tc_client_info(const char *name);
/* Its published ports as JSON text (toolcage_session_ports_json()), owned; NULL after a failure. */
char *tc_client_ports(const char *name, struct tc_failure *failure);

#endif
