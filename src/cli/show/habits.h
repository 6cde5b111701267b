/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spellings that hands bring from other sandboxes: each is answered with ours. */
#ifndef TC_CLI_SHOW_HABITS_H
#define TC_CLI_SHOW_HABITS_H

#include "cli/show/opts.h"

struct tc_habit {
    const char *options, *hint; /* blanks between options; NULL ends the table */
};
extern const struct tc_habit tc_habits[];

/* argv[0] is an option that the table of a verb that runs a tool does not have. Prints the hint for
 * it, if there is one; false if not. */
bool tc_habit_option(int argc, char **argv);

/* Values that mean something elsewhere ("--network host"). 0, or the exit code after the answer. */
int tc_habit_values(const struct tc_args *args);

/* The command does not exist, and it is a whole command line in one word: prints the hint, or
 * false. */
bool tc_habit_one_word(char *const words[]);

#endif
