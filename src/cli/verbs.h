/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Every verb of the program, in the order of its help. */
#ifndef TC_CLI_VERBS_H
#define TC_CLI_VERBS_H

#include "cli/cli.h"

/* NULL after the last. */
const struct tc_verb *tc_verb_at(size_t index);
/* The verb that argv begins with, and how many words name it; NULL and 0 when there is none. */
const struct tc_verb *tc_verb_find(int argc, char **argv, int *ret_words);

#endif
