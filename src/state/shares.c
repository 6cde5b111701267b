/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/shares.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Finds out how much of the range [*begin, *length) is free at its begin. If its first byte is
 * free, *length becomes the length of a free part. If a lock covers it, *length becomes 0 and
 * *begin the end of that lock. Loops, because the kernel reports some conflicting lock, not the
 * first. 0, or -1 with errno. */
static int find_gap(int fd, int64_t *begin, int64_t *length)
{
    while (*length > 0) {
        struct flock there = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = *begin, .l_len = *length};
        if (fcntl(fd, F_OFD_GETLK, &there) < 0)
            return -1;
        if (there.l_type == F_UNLCK)
            return 0;
        if (there.l_start > *begin) {
            *length = there.l_start - *begin;
        } else {
            *begin = there.l_start + there.l_len;
            *length = 0;
        }
    }
    return 0;
}

static int lock(int fd, int64_t begin, int64_t length)
{
    struct flock mine = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = begin, .l_len = length};
    return fcntl(fd, F_OFD_SETLK, &mine);
}

int tc_shares_take(int fd, int64_t all, int64_t count, int64_t *ret_free)
{
    int64_t left = count, at = 0;
    while (left > 0 && at < all) {
        int64_t begin = at, length = left < all - at ? left : all - at;
        if (find_gap(fd, &begin, &length) < 0)
            return -1;
        if (length > 0 && lock(fd, begin, length) < 0) {
            if (errno != EAGAIN && errno != EACCES)
                return -1;
            continue; /* another process locked it meanwhile: try again */
        }
        left -= length;
        at = begin + length;
    }
    *ret_free = count - left;
    if (left <= 0)
        return 0;
    tc_shares_give(fd);
    errno = EAGAIN;
    return -1;
}

void tc_shares_give(int fd)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_OFD_SETLK, &all);
}
