/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spellings that hands bring from other sandboxes: each is answered with ours. */
#ifndef TC_CLI_SHOW_FOREIGN_OPTIONS_H
#define TC_CLI_SHOW_FOREIGN_OPTIONS_H

#include "cli/show/opts.h"

struct tc_foreign_option {
    const char *options, *hint; /* blanks between options; NULL ends the table */
};
extern const struct tc_foreign_option tc_foreign_options[];

/* argv[0] is an option that the table of a verb that runs a tool does not have. Prints the hint for
 * it, if there is one; false if not. */
bool tc_foreign_option_hint(int argc, char **argv);

/* Values that mean something elsewhere ("--network host"). 0, or the exit code after the answer. */
int tc_foreign_values(const struct tc_args *args);

/* The command does not exist, and it is a whole command line in one word: prints the hint, or
 * false. */
bool tc_foreign_command_line(char *const words[]);

#endif
