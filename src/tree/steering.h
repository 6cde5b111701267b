/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files and directories that host programs load or run automatically (steering files). */
#ifndef TC_TREE_STEERING_H
#define TC_TREE_STEERING_H

#include <stdbool.h>

#include "policy/names/steering.h"

struct tc_item;

/* How does this path below the item steer the host? */
enum tc_steers tc_item_steers(const struct tc_item *item, const char *relative);

/* As tc_steers_git(), of a path below the item, or of the item itself (""). */
bool tc_item_is_git(const struct tc_item *item, const char *relative);

/* Does a name with this answer steer the host if its entry is of type `mode`? */
bool tc_steers_as(enum tc_steers steers, unsigned mode);

/* Does the entry exist? True also if it cannot be examined. */
bool tc_steers_there(int dirfd, const char *name);

/* The names that matter in a bare repository, which git discovers automatically, and when. Ends
 * with NULL. */
enum {
    TC_BARE_STOOD = 1, /* existing before the call: mounted read-only */
    TC_BARE_NEW = 2,   /* new in a bound tree after the call: a steering file */
    TC_BARE_BACK = 4,  /* in a commit of a private workspace: a steering file */
    TC_BARE_MAKES = 8, /* in such a commit: turns a directory into a repository */
};
extern const struct tc_bare {
    const char *name;
    unsigned when;
} tc_bare[];
/* 0: never. */
unsigned tc_bare_when(const char *name);

/* Is this directory laid out as a bare repository? */
bool tc_steers_bare(int dirfd);

/* Is an entry of this type a steering file, given the directory that holds it? The tool may have
 * made the directory a bare repository during the call, which makes the repository's files steering
 * files, too. */
bool tc_steers_place(const struct tc_item *item, int dirfd, const char *path, unsigned mode);

struct tc_cage;
struct tc_trees;
struct tc_walk_entry;

/* Was this directory of a bind mounted on itself, so that no other could be moved there? */
bool tc_steers_pinned(const struct tc_trees *t, const struct tc_item *item, const char *relative);

/* Is this entry of a bound tree a steering file that did not exist when the call began? Older ones
 * are read-only and cannot be replaced. Valid only if the tree was searched at the start. */
bool tc_steers_new(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e);

#endif
