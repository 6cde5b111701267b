/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage adopt --undo`: takes back what was adopted. */
#ifndef TC_CLI_ADOPT_UNDO_H
#define TC_CLI_ADOPT_UNDO_H

#include "cli/show/opts.h"

enum tc_adopt_answer { TC_ADOPT_ASK, TC_ADOPT_YES, TC_ADOPT_DRY };

/* With --file only these settings, else all. The exit code. */
int tc_adopt_undo(const struct tc_args *args, enum tc_adopt_answer answer);

#endif
