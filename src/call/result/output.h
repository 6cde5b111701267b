/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The output of a program that the operator named. */
#ifndef TC_CALL_RESULT_OUTPUT_H
#define TC_CALL_RESULT_OUTPUT_H

#include "base/buf.h"

/* Starts the program at `path` as spawn/spawn.h says, with nothing to read and this process's
 * standard error, and adds what it prints to `out` until it has ended with 0. NULL, or why not
 * (static; errno is 0 or says more). After `limit_ms` it is killed. The host receives no SIGCHLD,
 * and its wait(-1) does not find this child. */
const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out);

#endif
