/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Identifies a file and its state. Every write changes its ctime, which no program can set. */
#ifndef TC_STATE_STAMP_H
#define TC_STATE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"

enum { TC_STAMP_SIZE = 128 };

/* Hexadecimal numbers, separated by dots. */
static inline void tc_stamp(const struct stat *st, char out[TC_STAMP_SIZE])
{
    const uint64_t numbers[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
                                (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        int top = numbers[i] ? (63 - __builtin_clzll(numbers[i])) / 4 : 0;
        for (; top >= 0; top--)
            *out++ = "0123456789abcdef"[numbers[i] >> 4 * top & 15];
        *out++ = '.';
    }
    out[-1] = '\0';
}

/* The same for the file that a path resolves to; false: there is none. */
static inline bool tc_stamp_path(const char *path, char out[TC_STAMP_SIZE])
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    tc_stamp(&st, out);
    return true;
}

/* Is the last change more than a second old? Until then a write could leave the same ctime. A file
 * system that counts whole seconds is never settled. */
static inline bool tc_stamp_settled(const struct stat *st)
{
    struct timespec now;
    return st->st_ctim.tv_nsec && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec > st->st_ctim.tv_sec + 1;
}

#endif
