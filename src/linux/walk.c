/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

static bool over(struct tc_walk *w)
{
    bool late = w->deadline_us && (w->seen & 255) == 0 && tc_now_us() > w->deadline_us;
    if (late)
        w->entries_max = 0;
    return w->seen >= w->entries_max;
}

static int skip(struct tc_walk *w, size_t length)
{
    if (w->skipped++ == 0)
        (void)snprintf(w->left, sizeof(w->left), "%.*s", (int)length, w->path);
    return 0;
}

static int walk_directory(struct tc_walk *w, int fd, size_t length, int depth);

static int look_at_entry(const struct tc_walk *w, int dirfd, const struct dirent *e,
                         struct statx *ret)
{
    *ret = (struct statx){0};
    if (w->names_only && e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
        return 0;
    return statx(dirfd, e->d_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, ret);
}

static int walk_entry(struct tc_walk *w, int dirfd, const struct dirent *e, size_t length,
                      int depth)
{
    struct statx st;
    const char *name = e->d_name;
    size_t n = strlen(name);
    if (length + n + 2 > sizeof(w->path) || over(w) || look_at_entry(w, dirfd, e, &st) < 0)
        return skip(w, length);
    w->seen++;
    memcpy(w->path + length, name, n + 1);
    struct tc_walk_entry entry = {
        .dirfd = dirfd, .name = name, .relative = w->path, .st = &st, .depth = depth};
    int rc = w->visit(w->userdata, &entry);
    if (rc != 0 || !S_ISDIR(st.stx_mode))
        return rc < 0 ? -1 : 0;
    int fd = depth == TC_WALK_DEEPEST
                 ? -1
                 : openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return skip(w, length + n);
    w->path[length + n] = '/';
    rc = walk_directory(w, fd, length + n + 1, depth + 1);
    w->path[length + n] = '\0';
    if (rc == 0 && w->leave)
        w->leave(w->userdata, &entry);
    return rc;
}

/* Owns fd. */
static int walk_directory(struct tc_walk *w, int fd, size_t length, int depth)
{
    _autodir_ DIR *dir = tc_take_dir(fd);
    struct dirent *e;
    int rc = 0, more = 0;
    if (!dir)
        return -1;
    while (rc == 0 && (more = tc_next_entry(dir, &e)) > 0)
        rc = walk_entry(w, dirfd(dir), e, length, depth);
    return more < 0 ? -1 : rc;
}

int tc_walk(struct tc_walk *w, int dirfd)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->seen = w->skipped = 0;
    return fd < 0 ? -1 : walk_directory(w, fd, 0, 0);
}
