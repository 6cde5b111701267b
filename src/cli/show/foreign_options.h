/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Options of other sandboxes: each gets a hint with toolcage's equivalent. */
#ifndef TC_CLI_SHOW_FOREIGN_OPTIONS_H
#define TC_CLI_SHOW_FOREIGN_OPTIONS_H

#include "cli/show/opts.h"

struct tc_foreign_option {
    const char *options, *hint; /* alternatives separated by blanks; NULL ends the table */
};
extern const struct tc_foreign_option tc_foreign_options[];

/* argv[0] is an unknown option of a verb that runs a tool. Prints a hint if there is one; else
 * false. */
bool tc_foreign_option_hint(int argc, char **argv);

/* Prints the hint for an option of programs like this verb, or returns false. */
bool tc_foreign_verb_hint(const char *verb, const char *word);

/* Values with a meaning elsewhere ("--network host"). 0, or the exit code after the message. */
int tc_foreign_values(const struct tc_args *args);

/* The command does not exist and is a whole command line in one argument: prints a hint, or false.
 * */
bool tc_foreign_command_line(char *const words[]);

#endif
