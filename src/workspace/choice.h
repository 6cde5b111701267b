/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Selects staged changes of a call by their paths in the cage. A path also selects everything below
 * it, and the new directories above it. */
#ifndef TC_WORKSPACE_CHOICE_H
#define TC_WORKSPACE_CHOICE_H

#include "workspace/held.h"

struct tc_choice {
    const struct tc_held_list *list;
    const struct tc_trees *trees;     /* item N belongs to tree N of the list */
    const struct tc_held_row **order; /* the rows that are changes, by tree and name */
    bool *chosen;                     /* for each row of the list */
    size_t count;
    bool discards; /* the chosen changes are discarded */
    bool commits;  /* the chosen changes are committed */
    bool steering; /* steering files, too: a person has seen the mark and approved */
    bool plain;    /* commits without paths: all changes */
};

enum tc_choice_fate {
    TC_CHOICE_COMES,
    TC_CHOICE_STAYS,
    TC_CHOICE_GOES,
};

/* Without paths all changes are chosen, but caches are not committed; "/" chooses caches, too.
 * Returns 0; the number of the first path without changes, counted from 1; or -1: out of memory. */
ssize_t tc_choice_make(struct tc_choice *choice, const struct tc_held_list *list,
                       const struct tc_strv *paths);
void tc_choice_done(struct tc_choice *choice);
/* The row of the item's change at `relative`, or NULL. */
const struct tc_held_row *tc_choice_row(const struct tc_choice *choice, const struct tc_item *item,
                                        const char *relative);
/* Without a choice everything is committed; with one, an entry without a row stays staged. */
enum tc_choice_fate tc_choice_fate(const struct tc_choice *choice, const struct tc_item *item,
                                   const char *relative);

/* ---- caches: a review sums them up, a commit without paths leaves them out ---- */

/* The tool chose the names, so a name alone does not make a cache: what could act on the host is
 * reviewed. */
struct tc_cache_change {
    const char *relative, *kind;
    unsigned mode, was_mode; /* type and permissions now, and before; 0: did not exist */
};

/* How many bytes of the name make it a cache; 0: no cache. Does not look for steering files or
 * conflicts. */
size_t tc_cache_of(const struct tc_strv *patterns, const struct tc_cache_change *change);

/* The same for an entry of a private workspace; `change` has only `kind` and `was_mode`, and `held`
 * says why the entry is not committed. For staged changes the result from the end of the call
 * counts. */
size_t tc_cache_entry(const struct tc_cage *cage, const struct tc_item *item,
                      const struct tc_walk_entry *e, const struct tc_cache_change *change,
                      const char *held);

#endif
