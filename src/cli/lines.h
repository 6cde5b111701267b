/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A unified diff of two texts that differ in one place. */
#ifndef TC_CLI_LINES_H
#define TC_CLI_LINES_H

#include "cli/cli.h"

/* One hunk from the first line that differs to the last; owned, "" when nothing differs. NULL: no
 * memory. */
char *tc_lines_diff(const char *name, const char *before, const char *after);

#endif
