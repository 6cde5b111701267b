/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/local/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "linux/mounts.h"

static const char *state;

void tc_state_set(const char *directory)
{
    state = directory;
}

/* Ours alone: who could write here could make us remove, report and believe things. */
static int open_checked(const char *base, const char *part)
{
    struct stat st;
    _autofree_ char *path = tc_format("%s/%s", base, part);
    _autofd_ int root = path ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root < 0 || (tc_mkdirs(root, path + 1) < 0 && errno != EEXIST))
        return -1;
    _autofd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return -1;
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
        errno = EPERM;
        return -1;
    }
    return TAKE_FD(dir);
}

int tc_state_open(const char *part, const char **ret_where)
{
    const char *base = geteuid() == 0 ? "/run/toolcage" : state;
    if (ret_where)
        *ret_where = base ? base : "a state directory (neither HOME nor XDG_STATE_HOME is set)";
    if (!base)
        errno = ENOENT;
    return base ? open_checked(base, part) : -1;
}
