/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes for display: sorted by name, relative to the user's directory, and counted. */
#ifndef TC_CLI_SHOW_REVIEW_H
#define TC_CLI_SHOW_REVIEW_H

#include <stdio.h>

#include "cli/show/json.h"

struct tc_review_row {
    struct tc_slice json;
    struct tc_slice file; /* its entry in the answer's `files`; absent: none */
    char *path;           /* the path in the cage, escaped */
    char *kind, *held;
    bool directory, link;
    enum tc_review_sort { TC_REVIEW_ROW, TC_REVIEW_CACHE, TC_REVIEW_OBJECT } sort;
};

struct tc_review {
    char *base;  /* the directory that names are relative to; NULL: the root */
    char *place; /* the same, not escaped */
    struct tc_review_row *rows;
    size_t count;
    bool all; /* caches and git objects are listed one by one */
};

/* `answer` has the changes and must outlive the review. 0, or the exit code after printing the
 * reason. */
int tc_review_make(struct tc_review *review, struct tc_slice answer);
void tc_review_done(struct tc_review *review);

/* The path for a name that the user typed: absolute, or relative as printed by tc_review_name().
 * Owned. */
char *tc_review_path(const struct tc_review *review, const char *name);
/* The name relative to the base: borrowed. */
const char *tc_review_name(const struct tc_review *review, const struct tc_review_row *row);
/* Writes a link's target and changed permissions. */
void tc_review_put_detail(FILE *out, const struct tc_review_row *row);
/* Is the row only counted in a summary line (caches, new git objects)? */
bool tc_review_hides(const struct tc_review *review, const struct tc_review_row *row);
/* Has each staged file a digest, which a diff prints if it does not show the content? */
bool tc_review_known(const struct tc_review *review);
/* Is it the index of a git repository? */
bool tc_review_is_index(const char *path);
/* Do caches await approval? Do they, and are all changes caches? */
bool tc_review_caches(const struct tc_review *review);
bool tc_review_caches_alone(const struct tc_review *review);
/* One summary line for each sort of counted rows, "" without any; `held`: only of those that were
 * not applied. Owned, NULL if memory is exhausted. */
char *tc_review_summary(const struct tc_review *review, bool held);
/* Writes one line for each change, and the summary lines. */
void tc_review_put(FILE *out, const struct tc_review *review);

/* Writes "3 changes", after a comma if text precedes it; nothing for 0. */
void tc_review_count(FILE *out, size_t count, const char *one, const char *many);
/* Line counts of a diff of all changes. */
struct tc_review_lines {
    size_t added, removed, uncompared;
};
/* "3 files changed, 12 insertions(+), 1 deletion(-)"; owned. */
char *tc_review_sum(const struct tc_review *review, const struct tc_review_lines *lines);

static inline void tc_review_cleanup(struct tc_review *review)
{
    tc_review_done(review);
}
#define _autoreview_ __attribute__((cleanup(tc_review_cleanup)))

/* What a summary line counts: caches, which the library marks, and objects that a git commit
 * creates. The tool chose the names, so an object must be new, have a complete object name, and
 * have content that the library verified against that name. */

/* `row` is complete except for its sort. */
enum tc_review_sort tc_review_sort_of(const struct tc_review_row *row);

#endif
