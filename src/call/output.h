/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program of the operator's prints. */
#ifndef TC_CALL_OUTPUT_H
#define TC_CALL_OUTPUT_H

#include "base/buf.h"

/* Runs the program at `path` with this process's environment, directory and standard error, nothing
 * to read, and adds what it prints to `out`, until it has ended with 0. NULL, or why it cannot be
 * (static; errno is 0 or says more). It has `limit_ms`; whoever waits longer is killed. The host
 * hears nothing of a child: no SIGCHLD, and wait(-1) does not find it. */
const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out);

#endif
