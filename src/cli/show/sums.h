/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a review tells in a line: caches, which the library knows, and the objects that a commit
 * makes. The tool chose their names, so an object is new, has the whole name of one, and content
 * that the library verified against that name. */
#ifndef TC_CLI_SHOW_SUMS_H
#define TC_CLI_SHOW_SUMS_H

#include "cli/show/review.h"

/* `row` has all but this. */
enum tc_review_sort tc_review_sort_of(const struct tc_review_row *row);

#endif
