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
    bool no_rule; /* no Landlock rule: the rule of a mount above the target covers it */
    bool frozen;  /* a bind mount of the object on itself, read-only with everything below it */
    /* Names in a read-only tree that the tool must not see, relative to the tree, NULL-terminated:
     * an overlay with whiteouts hides them. NULL: none. */
    const char *const *hide;
    /* The tool sees the tree through an overlay. The overlay's upper and work directory are "u" and
     * "w" in the tmpfs `layers`. */
    bool layered;
    int layers; /* -1: no overlay */
};

/* Attaches the mount to its path below `root` (AT_FDCWD: the working directory). Follows no link,
 * and fails if the target is not the object that was resolved: another process, for example a cage
 * with the same directory, may have replaced it. 0, or -1 with errno; ESTALE: a different object is
 * there. Allocates nothing. */
int tc_init_mount_attach(int root, const struct tc_init_mount *m);

#endif
