/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The mounts of the granted paths, which the cage's first process attaches. */
#ifndef TC_TREE_MOUNT_H
#define TC_TREE_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "linux/landlock_rules.h"

/* A detached mount and its target, in the order of attaching (parents first). */
struct tc_init_mount {
    int fd;           /* -1: the tree is part of the root already */
    const char *path; /* relative to the new root */
    /* The object that must be at the target, for paths inside a tree that other processes can
     * change; dev 0: any. */
    dev_t dev;
    ino_t ino;
    enum tc_landlock_kind rights;
    bool no_rule; /* the rule of a mount above covers it */
    bool frozen;  /* read-only over itself, with everything below, since the start of the call */
    /* Names relative to a read-only tree that it must not show, NULL-terminated: an overlay of
     * whiteouts covers the tree. NULL: none. */
    const char *const *hide;
    /* an overlay covers the tree; its upper and work directory are "u" and "w" in the tmpfs
     * `layers` */
    bool layered;
    int layers; /* -1: none */
};

/* Attaches the mount to its path below `root` (AT_FDCWD: the working directory). A path inside a
 * granted tree may have been replaced since it was resolved, for example by another cage with the
 * same directory: no link is followed, and the target must be the resolved object. 0, or -1 with
 * errno; ESTALE: another object is there. Allocates nothing. */
int tc_init_mount_attach(int root, const struct tc_init_mount *m);

#endif
