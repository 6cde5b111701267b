/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/links.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/strv.h"
#include "base/sys.h"

int tc_path_straight(const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = tc_openat2(AT_FDCWD, path, &how);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 1 : errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* As a library's short name stands for the long one beside it; NULL: not so. */
static char *real_beside(const char *path)
{
    char target[NAME_MAX + 1];
    ssize_t n = readlink(path, target, sizeof(target));
    if (n <= 0 || n == (ssize_t)sizeof(target) || memchr(target, '/', (size_t)n))
        return NULL;
    target[n] = '\0';
    _autofree_ char *dir = tc_path_parent(path);
    _autofree_ char *real = dir ? tc_path_join(dir, target) : NULL;
    return real && tc_path_is_clean(real) && tc_path_straight(real) > 0 ? TAKE(real) : NULL;
}

char *tc_path_real(const char *path)
{
    bool clean = tc_path_is_clean(path);
    if (clean && tc_path_straight(path) > 0)
        return strdup(path);
    char *real = clean && errno == ELOOP ? real_beside(path) : NULL;
    return real ? real : realpath(path, NULL);
}
