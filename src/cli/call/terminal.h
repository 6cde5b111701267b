/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A started call's terminal on that of the person: raw while it lasts, and as it was afterwards. */
#ifndef TC_CLI_CALL_TERMINAL_H
#define TC_CLI_CALL_TERMINAL_H

#include "cli/show/failure.h"

/* Are standard input and output a terminal? */
bool tc_terminal_is_one(void);
/* Starts the call, to which it gives a terminal of the same size, and shows it until it ends.
 * *ret_signal: the last signal that asked for the end, or 0. 0, or -1 with the failure. */
int tc_terminal_run(struct toolcage_call *call, int *ret_signal, struct tc_failure *failure);

#endif
