/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One call from start to exit code: our standard input is pumped into it, its output comes through,
 * a signal cancels it, and what is to be said of its result is said. */
#ifndef TC_CLI_RUN_H
#define TC_CLI_RUN_H

#include "cli/setup.h"

/* Runs setup->call. `input`: standard input passes. Returns the exit code. */
int tc_run(struct tc_setup *setup, const struct tc_args *args, const char *tool, bool input);

#endif
