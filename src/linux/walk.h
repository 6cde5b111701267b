/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Walking a tree that somebody hostile may have made: never through a link, never blocking on a
 * pipe, bounded in depth, entries and time. */
#ifndef TC_LINUX_WALK_H
#define TC_LINUX_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct tc_walk_entry {
    int dirfd;            /* the directory that holds it */
    const char *name;     /* in that directory */
    const char *relative; /* to the start of the walk */
    const struct statx *st;
    int depth; /* 0: at the start of the walk; at most TC_WALK_DEEPEST */
};

/* Deeper than any tree that people work with; a directory stays open for each level. */
enum { TC_WALK_DEEPEST = 500 };

struct tc_walk {
    /* Called for each entry, directories before what they hold. 0: go on; 1: not into this
     * directory; -1: stop. */
    int (*visit)(void *userdata, const struct tc_walk_entry *entry);
    /* NULL, or called for each directory that was gone into, after what it holds. */
    void (*leave)(void *userdata, const struct tc_walk_entry *directory);
    void *userdata;
    /* Only directories are looked at, and the others named; their st is empty. */
    bool names_only;
    int64_t entries_max;
    int64_t deadline_us; /* monotonic; 0: none */
    int64_t skipped;     /* out: entries that a bound left out, or that could not be read */
    char left[PATH_MAX]; /* out: where the first of them is, as far as its path can be told */
    /* the walk's own */
    char path[PATH_MAX];
    int64_t seen;
};

/* 0, or -1 with errno when visit stopped it or the start cannot be opened. */
int tc_walk(struct tc_walk *walk, int dirfd);

#endif
