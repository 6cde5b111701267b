/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directories below the state directory, made and checked. */
#include "workspace/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/store.h"
#include "base/strv.h"
#include "linux/mounts.h"
#include "tree/tree.h"

static const char *state;

void tc_state_set(const char *directory)
{
    state = directory;
    tc_tree_host.state = directory;
}

static const char *base(void)
{
    return geteuid() == 0 ? "/run/toolcage" : state;
}

static int make_and_open(const char *path)
{
    _autofd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || (tc_mkdirs(root, path + 1) < 0 && errno != EEXIST))
        return -1;
    return tc_store_enter(AT_FDCWD, path);
}

/* Most of the time it is there. */
static int open_checked(const char *part, bool make)
{
    _autofree_ char *path = tc_format("%s/%s", base(), part);
    int fd = path ? tc_store_enter(AT_FDCWD, path) : -1;
    return fd < 0 && path && make && errno == ENOENT ? make_and_open(path) : fd;
}

int tc_state_open(const char *part, const char **ret_where)
{
    if (ret_where)
        *ret_where = base() ? base() : "a state directory (neither HOME nor XDG_STATE_HOME is set)";
    if (!base())
        errno = ENOENT;
    return base() ? open_checked(part, true) : -1;
}

int tc_state_look(const char *part)
{
    struct stat st;
    int fd = base() ? open_checked(part, false) : -1;
    if (fd < 0 && (!base() || (errno == ENOTDIR && stat(base(), &st) < 0 && errno == ENOTDIR)))
        errno = ENOENT;
    return fd;
}
