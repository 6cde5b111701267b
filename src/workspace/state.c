/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Creates and checks the directories in the state directory. */
#include "workspace/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "linux/mounts.h"
#include "state/store.h"

static const char *state;

void tc_state_set(const char *directory)
{
    state = directory;
}

const char *tc_state_given(void)
{
    return state;
}

static const char *base(void)
{
    return geteuid() == 0 ? "/run/toolcage" : state;
}

/* Creates the directory, and missing ones above it. Only the caller may enter the directory,
 * because the names in it identify calls and sessions. */
static int make_and_open(const char *base, const char *path)
{
    _autofd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || (tc_mkdirs(root, base + 1) < 0 && errno != EEXIST) ||
        (mkdir(path, 0700) < 0 && errno != EEXIST))
        return -1;
    return tc_store_enter(AT_FDCWD, path);
}

/* Opens the directory; with `make`, creates it if it is missing. */
static int open_checked(const char *base, const char *part, bool make)
{
    _autofree_ char *path = tc_format("%s/%s", base, part);
    int fd = path ? tc_store_enter(AT_FDCWD, path) : -1;
    return fd < 0 && path && make && errno == ENOENT ? make_and_open(base, path) : fd;
}

/* Gives the directory this mode: mkdir() above makes it 0700, and an older version made it with
 * more rights. */
static int set_mode(int fd, mode_t mode)
{
    struct stat st;
    return fstat(fd, &st) < 0 || ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0) ? -1 : 0;
}

int tc_state_open_mode(const char *part, mode_t mode, const char **ret_where)
{
    if (ret_where)
        *ret_where = base() ? base() : "a state directory (neither HOME nor XDG_STATE_HOME is set)";
    if (!base())
        errno = ENOENT;
    _autofd_ int fd = base() ? open_checked(base(), part, true) : -1;
    return fd < 0 || set_mode(fd, mode) < 0 ? -1 : TAKE_FD(fd);
}

int tc_state_open(const char *part, const char **ret_where)
{
    return tc_state_open_mode(part, 0700, ret_where);
}

int tc_state_look(const char *part)
{
    struct stat st;
    int fd = base() ? open_checked(base(), part, false) : -1;
    /* no state directory, or one that cannot exist because a parent is a file */
    if (fd < 0 && (!base() || (errno == ENOTDIR && stat(base(), &st) < 0 && errno == ENOTDIR)))
        errno = ENOENT;
    if (fd >= 0)
        (void)set_mode(fd, 0700);
    return fd;
}

int tc_state_open_disk(const char *part)
{
    return state ? open_checked(state, part, true) : -1;
}

int tc_state_look_disk(const char *part)
{
    return state ? open_checked(state, part, false) : -1;
}
