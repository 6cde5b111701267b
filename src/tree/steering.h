/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files and directories that programs of the host obey without being asked. */
#ifndef TC_TREE_STEERING_H
#define TC_TREE_STEERING_H

#include <stdbool.h>

#include "policy/names/steering.h"

struct tc_item;

/* Does it steer the host, at this place below the item? */
enum tc_steers tc_item_steers(const struct tc_item *item, const char *relative);

/* Does what has such a name steer the host, being of this type? */
bool tc_steers_as(enum tc_steers steers, unsigned mode);

/* Is there such an entry? What cannot be looked at may be there. */
bool tc_steers_there(int dirfd, const char *name);

/* What counts in a repository without a work tree, which git finds unasked, and when. Ends with
 * NULL. */
enum {
    TC_BARE_STOOD = 1, /* before the call: it is read-only */
    TC_BARE_NEW = 2,   /* in a bound tree, after the call: it steers the host */
    TC_BARE_BACK = 4,  /* on its way back from a private workspace: the same */
    TC_BARE_MAKES = 8, /* on that way: it makes a repository of a directory */
};
extern const struct tc_bare {
    const char *name;
    unsigned when;
} tc_bare[];
/* 0: never. */
unsigned tc_bare_when(const char *name);

/* Is this directory laid out as a repository without a work tree? */
bool tc_steers_bare(int dirfd);

/* The same of an entry of a directory, of this type; a repository without a work tree may have been
 * laid out in it just now, and then its pieces steer the host, too. */
bool tc_steers_place(const struct tc_item *item, int dirfd, const char *path, unsigned mode);

struct tc_cage;
struct tc_walk_entry;

/* Does this entry of a bound tree steer the host now, and did not stand there when the call began?
 * What did is read-only, and nothing can be put in its place. Only where the tree was searched at
 * the start. */
bool tc_steers_new(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e);

#endif
