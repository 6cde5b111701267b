/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Programs of ours that the command line becomes. They stand beside it, or where an installed one
 * has them; nowhere else, whatever PATH says. */
#ifndef TC_CLI_CALL_SIBLING_H
#define TC_CLI_CALL_SIBLING_H

#include "cli/show/failure.h"

/* A place as it is told from our own file's directory, owned; NULL: /proc does not tell ours. */
char *tc_sibling_place(const char *place);
/* Its descriptor; -1: it is not there, or others could change it. */
int tc_sibling_find(const char *name);
/* The same, -1 with the failure; `what` is what it is for. */
int tc_sibling_open(const char *name, const char *what, struct tc_failure *failure);
/* Becomes it, with `fds` as its descriptors from 3 on and the signals that end it held back.
 * Returns -1 with the failure. */
int tc_sibling_become(int program, char *const argv[], char *const env[], const int *fds,
                      size_t count, struct tc_failure *failure);

#endif
