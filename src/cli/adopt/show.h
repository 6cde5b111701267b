/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What `toolcage adopt` prints. Everything that the settings chose is escaped. */
#ifndef TC_CLI_ADOPT_SHOW_H
#define TC_CLI_ADOPT_SHOW_H

#include "cli/adopt/jobs.h"

/* Each print to standard output: 0, or the exit code after printing the reason. */

/* The servers of all settings, and what is done with each. */
int tc_adopt_print_list(const struct tc_adopt_run *run);
/* For each server that is adopted: the diff, what it may do, and what it does not get. */
int tc_adopt_print_changes(const struct tc_adopt_run *run);
/* What to do next. */
int tc_adopt_print_next(const struct tc_adopt_run *run);
/* Prints the question at the user's terminal. 1: yes; 0: no; -1: there is no terminal. */
int tc_adopt_confirm(const char *question);

#endif
