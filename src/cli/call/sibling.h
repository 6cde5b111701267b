/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Companion programs that the command line executes. They are searched next to toolcage and in its
 * libexec directory, never in PATH. */
#ifndef TC_CLI_CALL_SIBLING_H
#define TC_CLI_CALL_SIBLING_H

#include "cli/show/failure.h"

/* A path relative to the directory of this executable, owned; NULL: /proc is not available. */
char *tc_sibling_place(const char *place);
/* An fd of the program; -1: it is missing, or other users could modify it. */
int tc_sibling_find(const char *name);
/* As tc_sibling_find(), -1 with the failure; `what` is the program's purpose. */
int tc_sibling_open(const char *name, const char *what, struct tc_failure *failure);
/* Executes the program with `fds` as its fds from 3 on and SIGTERM and SIGINT blocked. Returns only
 * on failure, -1. */
int tc_sibling_become(int program, char *const argv[], char *const env[], const int *fds,
                      size_t count, struct tc_failure *failure);

#endif
