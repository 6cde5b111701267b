/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Starting the helper without the host ever having a child. */
#ifndef TC_CALL_LAUNCH_H
#define TC_CALL_LAUNCH_H

#include "base/error.h"

/* The helper's code, in a program that holds it: the first helper is then a fork of that program.
 * Set by a process of one thread, before it reads anything that a cage must not have. Gets the
 * directory of the user's state, or NULL, and never returns. NULL: the helper is a program. */
extern void (*tc_launch_within)(const char *state);

/* Finds the helper beside the loaded library, checks it and starts it with `sock` and `host` (a
 * pidfd of this process) as its descriptors. Both stay the caller's. */
int tc_launch_helper(int sock, int host, struct toolcage_error **err);

/* The same with a program given by name: the half of it that has no rule about places. */
int tc_launch_program(const char *path, int sock, int host, struct toolcage_error **err);

#endif
