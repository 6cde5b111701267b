/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What changes would do to this machine's files, as a person reads it. */
#ifndef TC_CLI_DIFF_H
#define TC_CLI_DIFF_H

#include "cli/review.h"

/* How many files are compared at once, at most: each costs a call. */
enum { TC_DIFF_MOST = 200 };

/* Writes what held changes would do to the files of this machine, as unified diffs in the order of
 * the review, whose answer of toolcage_engine_changes_json() this is, and counts their lines. Each
 * file is compared by diff(1) in a cage that shows it that file alone. */
void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                 const struct tc_review *review, struct tc_review_lines *lines);
/* All that a person looks at before an answer: the list, its sum, the diffs. Owned, NULL without
 * memory; not yet made harmless for a terminal. */
char *tc_review_whole(struct toolcage_engine *engine, struct tc_slice answer,
                      const struct tc_review *review);
/* One row of it. */
void tc_diff_put_row(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                     const struct tc_review *review, const struct tc_review_row *row);

#endif
