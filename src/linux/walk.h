/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Walks a tree whose author may be hostile: follows no link, does not block on a pipe, and has
 * limits of depth, entries and time. */
#ifndef TC_LINUX_WALK_H
#define TC_LINUX_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct tc_walk_entry {
    int dirfd;            /* the directory that contains the entry */
    const char *name;     /* the entry's name in that directory */
    const char *relative; /* the entry's path from the start of the walk */
    const struct statx *st;
    int depth; /* 0: at the start of the walk; at most TC_WALK_DEEPEST */
};

/* The maximum depth, larger than that of real trees; the walk keeps one directory open per level.
 */
enum { TC_WALK_DEEPEST = 500 };

struct tc_walk {
    /* Called for each entry, a directory before its entries. 0: continue; 1: do not enter this
     * directory; -1: stop. */
    int (*visit)(void *userdata, const struct tc_walk_entry *entry);
    /* NULL, or called for each directory that was entered, after its entries. */
    void (*leave)(void *userdata, const struct tc_walk_entry *directory);
    void *userdata;
    /* Only directories are examined; other entries have only a name and an empty st. */
    bool names_only;
    int64_t entries_max;
    int64_t deadline_us; /* monotonic; 0: none */
    int64_t skipped;     /* out: number of entries beyond a limit, or unreadable */
    char left[PATH_MAX]; /* out: path of the first skipped entry, as far as it is known */
    /* internal */
    char path[PATH_MAX];
    int64_t seen;
};

/* Walks the tree below `dirfd`. 0, or -1 with errno: visit() has stopped the walk, or `dirfd`
 * cannot be read. */
int tc_walk(struct tc_walk *walk, int dirfd);

#endif
