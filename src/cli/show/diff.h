/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Displays the effect of staged changes on the host's files. */
#ifndef TC_CLI_SHOW_DIFF_H
#define TC_CLI_SHOW_DIFF_H

#include "cli/cli.h"
#include "cli/show/review.h"

/* Prints to `fd` (standard output or standard error) the effect of a call's staged changes on the
 * host's files, each as soon as it is computed: unified diffs, first of modified, then of new
 * files; the files that were not compared, with the reason; the totals. diff(1) reads the host's
 * file in a cage that grants only this file, because a tool may have put anything there. All
 * comparisons share a time limit. 0, or the exit code after printing the reason. */
int tc_diff_print(int fd, struct toolcage_engine *engine, const char *call,
                  const struct tc_review *review);
/* The list of the staged changes, and the same diffs, as one text, not yet escaped. *ret_whole: no
 * text is left out, and other files are there with their digests. Owned; NULL: out of memory. */
char *tc_diff_text(struct toolcage_engine *engine, const struct tc_review *review, int seconds,
                   bool *ret_whole);
/* Writes the diff of one change, not yet escaped. */
void tc_diff_put_row(FILE *out, struct toolcage_engine *engine, const struct tc_review *review,
                     const struct tc_review_row *row);

/* A unified diff of two strings that differ in one place: one hunk from the first to the last
 * different line, in the format of diff -u, with the names before and after; owned, "" if nothing
 * differs. NULL: out of memory. */
char *tc_lines_diff(const char *const names[2], const char *before, const char *after);

#endif
