/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What becomes of the granted paths: the mounts that a cage's first process attaches. */
#ifndef TC_TREE_MOUNT_H
#define TC_TREE_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "linux/landlock_rules.h"

/* A detached mount and where it goes, in the order of attaching (parents first). */
struct tc_init_mount {
    int fd;           /* -1: the tree is part of the root already */
    const char *path; /* relative to the new root */
    /* What must be found at the path, for places inside a tree that others can change; dev 0: no
     * matter. */
    dev_t dev;
    ino_t ino;
    enum tc_landlock_kind rights;
    bool no_rule; /* covered by the rule of a mount above */
    bool frozen;  /* what stood there at the start is read-only over itself, with all below */
    /* names below that a read-only tree must not show, relative to it, NULL-terminated: an overlay
     * of whiteouts goes over the tree. NULL: none. */
    const char *const *hide;
    /* an overlay goes over the tree, and what is written stays in this tmpfs ("u", work in "w") */
    bool layered;
    int layers; /* -1: none */
};

/* Puts it into its place below `root` (AT_FDCWD: the working directory is it). A place inside a
 * granted tree may have been swapped since it was looked up (by another cage with the same
 * directory, say): no link is followed, and the mount goes onto the very object that was meant. 0,
 * or -1 with errno, ESTALE where another is there. It allocates nothing. */
int tc_init_mount_attach(int root, const struct tc_init_mount *m);

#endif
