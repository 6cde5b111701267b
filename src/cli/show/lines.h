/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A unified diff of two texts that differ in one place. */
#ifndef TC_CLI_SHOW_LINES_H
#define TC_CLI_SHOW_LINES_H

#include "cli/cli.h"

/* One hunk from the first line that differs to the last, written as diff -u writes it, with the
 * names before and after; owned, "" when nothing differs. NULL: no memory. */
char *tc_lines_diff(const char *const names[2], const char *before, const char *after);

#endif
