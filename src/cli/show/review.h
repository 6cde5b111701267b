/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes as a person looks at them: in the order of their names, which are told from where the
 * person works, and counted. */
#ifndef TC_CLI_SHOW_REVIEW_H
#define TC_CLI_SHOW_REVIEW_H

#include <stdio.h>

#include "cli/show/json.h"

struct tc_review_row {
    struct tc_slice json;
    struct tc_slice file; /* its entry among the answer's files; absent: none */
    char *path;           /* as the tool sees it, harmless for a terminal */
    char *kind, *held;
    bool directory, link;
    enum tc_review_sort { TC_REVIEW_ROW, TC_REVIEW_CACHE, TC_REVIEW_OBJECT } sort;
};

struct tc_review {
    char *base;  /* what the names are told from; NULL: from the root */
    char *place; /* the same as it is */
    struct tc_review_row *rows;
    size_t count;
    bool all; /* nothing is summed up */
};

/* `answer` has the changes, and must outlive it. 0, or the exit code after saying why not. */
int tc_review_make(struct tc_review *review, struct tc_slice answer);
void tc_review_done(struct tc_review *review);

/* The path that a person means by a name: from the root, or as tc_review_name() tells it. Owned. */
char *tc_review_path(const struct tc_review *review, const char *name);
/* The name from the base on: borrowed. */
const char *tc_review_name(const struct tc_review *review, const struct tc_review_row *row);
/* Where a link leads, and what becomes of rights. */
void tc_review_put_detail(FILE *out, const struct tc_review_row *row);
/* Is it one of those that a line sums up: caches, and new objects of git? */
bool tc_review_hides(const struct tc_review *review, const struct tc_review_row *row);
/* Is it the index of a repository of git? */
bool tc_review_is_index(const char *path);
/* Are there caches that wait? And does nothing else? */
bool tc_review_caches(const struct tc_review *review);
bool tc_review_caches_alone(const struct tc_review *review);
/* A line for each sort of those that are summed up, "" without any; owned, NULL without memory. */
char *tc_review_summary(const struct tc_review *review);
/* One line a change, and one for what is summed up. */
void tc_review_put(FILE *out, const struct tc_review *review);

/* "3 changes", after a comma where something stands before it; nothing for 0. */
void tc_review_count(FILE *out, size_t count, const char *one, const char *many);
/* What a diff of all of them has. */
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

/* What a review tells in a line: caches, which the library knows, and the objects that a commit
 * makes. The tool chose their names, so an object is new, has the whole name of one, and content
 * that the library verified against that name. */

/* `row` has all but this. */
enum tc_review_sort tc_review_sort_of(const struct tc_review_row *row);

#endif
