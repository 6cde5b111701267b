/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The mounts of the granted paths, which the cage's first process attaches. */
#ifndef TC_TREE_MOUNT_H
#define TC_TREE_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "linux/landlock_rules.h"

/* A detached mount and its target. Mounts are attached in their order: parents first. */
struct tc_init_mount {
    int fd;           /* the mount; -1: the root already contains the tree */
    const char *path; /* the target, relative to the new root */
    /* The object that must be at the target, if other processes can change the tree that contains
     * the target; dev 0: any object. */
    dev_t dev;
    ino_t ino;
    enum tc_landlock_kind rights;
    bool no_rule; /* the rule of a mount above covers it */
    bool frozen;  /* read-only over itself, with everything below, since the start of the call */
    bool itself;  /* an object over itself: one that replaced it is mounted in the same way */
    /* Names relative to a read-only tree that it must not show, NULL-terminated: an overlay of
     * whiteouts covers the tree. NULL: none. */
    const char *const *hide;
    /* The tool sees the tree through an overlay. The overlay's upper and work directory are "u" and
     * "w" in the tmpfs `layers`. */
    bool layered;
    bool tmp;   /* another mount of the private /tmp, which is attached already */
    int layers; /* -1: no overlay */
};

/* Attaches the mount to its path below `root` (AT_FDCWD: the working directory). A path inside a
 * granted tree may have been replaced since it was resolved, by an editor, git or another cage: no
 * link is followed, and the target must be the resolved object, or `itself` is set. 0, or -1 with
 * errno; ESTALE: another object is there. Allocates nothing. */
int tc_init_mount_attach(int root, const struct tc_init_mount *m);

#endif
