/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What changes would do to this machine's files, as a person reads it. */
#ifndef TC_CLI_SHOW_DIFF_H
#define TC_CLI_SHOW_DIFF_H

#include "cli/cli.h"
#include "cli/show/review.h"

/* Prints to `fd` (standard output or standard error) what held changes of `call` would do to the
 * files of this machine, each as soon as it is known: unified diffs, modified files first and new
 * ones last; then the files that were not compared, with the reason; then the sum. What this
 * machine has is compared by diff(1) in a cage that shows it that file alone: a tool may have left
 * anything at its name. All such cages have some seconds together. 0, or the exit code after saying
 * why not. */
int tc_diff_print(int fd, struct toolcage_engine *engine, const char *call,
                  const struct tc_review *review);
/* One row of it, not yet made harmless for a terminal. */
void tc_diff_put_row(FILE *out, struct toolcage_engine *engine, const struct tc_review *review,
                     const struct tc_review_row *row);

/* A unified diff of two texts that differ in one place: one hunk from the first line that differs
 * to the last, written as diff -u writes it, with the names before and after; owned, "" when
 * nothing differs. NULL: no memory. */
char *tc_lines_diff(const char *const names[2], const char *before, const char *after);

#endif
