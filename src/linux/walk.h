/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Walking a tree whose author may be hostile: never through a link, never blocking on a pipe,
 * bounded in depth, entries and time. */
#ifndef TC_LINUX_WALK_H
#define TC_LINUX_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct tc_walk_entry {
    int dirfd;            /* its directory */
    const char *name;     /* in that directory */
    const char *relative; /* to the start of the walk */
    const struct statx *st;
    int depth; /* 0: at the start of the walk; at most TC_WALK_DEEPEST */
};

/* Deeper than trees in practice; one directory stays open for each level. */
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
    int64_t skipped;     /* out: entries beyond a bound, or unreadable ones */
    char left[PATH_MAX]; /* out: path of the first of them, as far as it is known */
    /* internal */
    char path[PATH_MAX];
    int64_t seen;
};

/* 0, or -1 with errno when visit stopped it or the start cannot be opened. */
int tc_walk(struct tc_walk *walk, int dirfd);

#endif
