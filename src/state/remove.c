/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { DEEPEST = 550 }; /* what is walked is not as deep */

static int remove_below(int dirfd, const char *name, int depth)
{
    if (unlinkat(dirfd, name, 0) == 0)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth == DEEPEST)
        return -1;
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _autodir_ DIR *dir = tc_take_dir(fd);
    if (!dir)
        return -1;
    struct dirent *e;
    int rc = 0, more = 0;
    while (rc == 0 && (more = tc_next_entry(dir, &e)) > 0)
        rc = remove_below(fd, e->d_name, depth + 1);
    return rc < 0 || more < 0 ? -1 : unlinkat(dirfd, name, AT_REMOVEDIR);
}

int tc_remove_tree(int dirfd, const char *name)
{
    return remove_below(dirfd, name, 0);
}
