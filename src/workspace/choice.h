/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which of a call's held changes a person means, by their paths as the tool sees them. A path means
 * what lies below it, too, and the directories on the way that the tool made. */
#ifndef TC_WORKSPACE_CHOICE_H
#define TC_WORKSPACE_CHOICE_H

#include "workspace/held.h"

struct tc_choice {
    const struct tc_held_list *list;
    const struct tc_trees *trees;     /* item N stands for tree N of the list */
    const struct tc_held_row **order; /* those that are changes, by tree and name */
    bool *chosen;                     /* each row of the list */
    size_t count;
    bool discards; /* what is chosen is thrown away */
    bool commits;  /* it is brought to the host */
    bool plain;    /* nobody named any: a yes to all of them */
};

enum tc_choice_fate {
    TC_CHOICE_COMES,
    TC_CHOICE_STAYS,
    TC_CHOICE_GOES,
};

/* No paths mean all of them, but no cache where they are brought to the host. "/" means really all.
 * 0; or the number of the first path that means nothing, plus 1; or -1:
 * no memory. */
ssize_t tc_choice_make(struct tc_choice *choice, const struct tc_held_list *list,
                       const struct tc_strv *paths);
void tc_choice_done(struct tc_choice *choice);
/* The row of a change of this item, or NULL. */
const struct tc_held_row *tc_choice_row(const struct tc_choice *choice, const struct tc_item *item,
                                        const char *relative);
/* `choice` NULL: everything comes. */
enum tc_choice_fate tc_choice_fate(const struct tc_choice *choice, const struct tc_item *item,
                                   const char *relative);

/* ---- what a review sums up, and a plain yes leaves out ---- */

/* The tool chose the names, so a name is not enough: what would do something once it is on the host
 * is looked at by a person. */
struct tc_cache_change {
    const char *relative, *kind;
    unsigned mode, was_mode; /* type and rights now, and before; 0: nothing was there */
};

/* How much of its name makes it a cache; 0: it is none. Whether it steers the host or meets newer
 * work there is not known here. */
size_t tc_cache_of(const struct tc_strv *patterns, const struct tc_cache_change *change);

/* Of an entry of a private workspace, of which only `kind` and `was_mode` are given, and why it
 * stays away. What was judged when the call ended is not judged again. */
size_t tc_cache_entry(const struct tc_cage *cage, const struct tc_item *item,
                      const struct tc_walk_entry *e, const struct tc_cache_change *change,
                      const char *held);

#endif
