/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which file it was that was looked at, and in which state: whoever writes to it moves the time of
 * its last change, which nobody can set. */
#ifndef TC_BASE_MARK_H
#define TC_BASE_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

enum { TC_MARK_SIZE = 128 };

static inline void tc_mark(const struct stat *st, char out[TC_MARK_SIZE])
{
    (void)snprintf(out, TC_MARK_SIZE, "%jx.%jx.%jx.%jx.%lx", (uintmax_t)st->st_dev,
                   (uintmax_t)st->st_ino, (uintmax_t)st->st_size, (uintmax_t)st->st_ctim.tv_sec,
                   (unsigned long)st->st_ctim.tv_nsec);
}

/* The same of what a path leads to; false: nothing. */
static inline bool tc_mark_path(const char *path, char out[TC_MARK_SIZE])
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    tc_mark(&st, out);
    return true;
}

/* Has a second gone since its last change? Before that a write could leave the same time; and a
 * file system that counts whole seconds tells nothing. */
static inline bool tc_mark_settled(const struct stat *st)
{
    struct timespec now;
    return st->st_ctim.tv_nsec && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec > st->st_ctim.tv_sec + 1;
}

#endif
