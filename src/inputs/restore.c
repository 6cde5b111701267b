/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes a stored directory again. Its names were a tool's; the directory it is made in belongs to
 * this process alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "inputs/store.h"
#include "linux/walk.h"

static int restore(int store, const char *digest, int to, int depth);

static int set_times(int fd, const struct tc_inputs_entry *e)
{
    struct timespec times[2] = {{.tv_sec = e->seconds, .tv_nsec = e->nanoseconds},
                                {.tv_sec = e->seconds, .tv_nsec = e->nanoseconds}};
    return fchmod(fd, e->mode & 0777) < 0 ? -1 : futimens(fd, times);
}

static int restore_file(int store, const char *name, int to, const struct tc_inputs_entry *e)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    _autofd_ int fd = openat(to, name, flags, 0600);
    return fd < 0 || tc_inputs_get_file(store, e->digest, fd) < 0 ? -1 : set_times(fd, e);
}

static int restore_link(int store, const char *name, int to, const struct tc_inputs_entry *e)
{
    _autobuf_ struct tc_buf target = {.max = PATH_MAX};
    return tc_inputs_get(store, e->digest, &target) < 0 ? -1 : symlinkat(target.data, to, name);
}

static int restore_directory(int store, const char *name, int to, const struct tc_inputs_entry *e,
                             int depth)
{
    if (mkdirat(to, name, 0700) < 0)
        return -1;
    _autofd_ int fd = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    errno = fd < 0 ? errno : EBADMSG;
    return fd < 0 || depth > TC_WALK_DEEPEST || restore(store, e->digest, fd, depth + 1) < 0
               ? -1
               : set_times(fd, e);
}

static int restore_entry(int store, int to, const struct tc_inputs_entry *e, int depth)
{
    char name[NAME_MAX + 1];
    (void)snprintf(name, sizeof(name), "%.*s", (int)e->name_length, e->name);
    errno = EBADMSG;
    return e->type == 'd'   ? restore_directory(store, name, to, e, depth)
           : e->type == 'f' ? restore_file(store, name, to, e)
           : e->type == 'l' ? restore_link(store, name, to, e)
                            : -1;
}

static int restore(int store, const char *digest, int to, int depth)
{
    _autobuf_ struct tc_buf object = TC_BUF_INIT;
    struct tc_inputs_entry entry;
    size_t at = 0;
    int r = tc_inputs_get(store, digest, &object) < 0 ? -1 : 1;
    while (r > 0 && (r = tc_inputs_entry_next(&object, &at, &entry)) > 0)
        r = restore_entry(store, to, &entry, depth) < 0 ? -1 : 1;
    return r;
}

int tc_inputs_restore(int store, const char *digest, int to)
{
    return restore(store, digest, to, 0);
}
