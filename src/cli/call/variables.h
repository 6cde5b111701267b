/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Variables for the tool: --env and --env-file. */
#ifndef TC_CLI_CALL_VARIABLES_H
#define TC_CLI_CALL_VARIABLES_H

#include "cli/call/secret.h"

/* NAME=VALUE, or NAME for the caller's own value. 0, or -1 with the failure. */
int tc_variables_give(struct toolcage_call *call, const char *said, struct tc_failure *failure);

/* Each NAME=VALUE of a file: a line, or, where the file holds a NUL byte, what stands before each
 * of them. Values that the command line would show to everybody on this machine come in this way.
 */
int tc_variables_give_file(struct toolcage_call *call, const char *path, struct tc_writers writers,
                           struct tc_failure *failure);

#endif
