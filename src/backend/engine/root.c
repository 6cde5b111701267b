/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Of containerd's containers: the root, which is a few empty directories, and the file of our
 * program, both by paths, because that is what it takes. */
#include "backend/engine/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "workspace/state.h"

static const char part[] = "engine-root";

/* All calls have the same one, read-only: every path in it is a mount point. */
static int make_root(int root)
{
    static const char *const directories[] = {"dev", "proc", &TC_ENGINE_OURS[1],
                                              &TC_ENGINE_TALK[1]};
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        if ((mkdirat(root, directories[i], 0755) < 0 && errno != EEXIST) ||
            fchmodat(root, directories[i], 0755, 0) < 0)
            return -1;
    _autofd_ int file =
        openat(root, &TC_ENGINE_INIT[1], O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    return file < 0 ? -1 : 0;
}

/* An engine resolves a path, so it has to be the file's still. */
static int find_program(const char *link, char path[PATH_MAX])
{
    struct stat mine, found;
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return -1;
    path[n] = '\0';
    if (stat(link, &mine) < 0)
        return -1;
    if (lstat(path, &found) < 0 || mine.st_dev != found.st_dev || mine.st_ino != found.st_ino) {
        errno = ESTALE;
        return -1;
    }
    return 0;
}

int tc_engine_root_find(const char *program, struct tc_engine_root *ret)
{
    const char *where = "";
    _autofd_ int root = tc_state_open_mode(part, 0755, &where);
    if (root < 0 || make_root(root) < 0)
        return -1;
    int n = snprintf(ret->directory, sizeof(ret->directory), "%s/%s", where, part);
    errno = ENAMETOOLONG;
    return n < 0 || (size_t)n >= sizeof(ret->directory) ? -1 : find_program(program, ret->program);
}
