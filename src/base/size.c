/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/size.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { DEEPEST = 550, BLOCK = 512 };

static int64_t bytes_below(int dirfd, const char *name, int depth)
{
    struct stat st;
    struct dirent *e;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    int64_t sum = (int64_t)st.st_blocks * BLOCK;
    if (!S_ISDIR(st.st_mode))
        return sum;
    errno = ELOOP;
    int fd = depth == DEEPEST
                 ? -1
                 : openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _autodir_ DIR *dir = tc_take_dir(fd);
    int more = dir ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0) {
        int64_t one = bytes_below(fd, e->d_name, depth + 1);
        if (one < 0)
            return -1;
        sum += one;
    }
    return more < 0 ? -1 : sum;
}

int64_t tc_tree_bytes(int dirfd, const char *name)
{
    return bytes_below(dirfd, name, 0);
}
