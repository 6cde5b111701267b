/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/files/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strv.h"

int tc_files_fail(const char *subject, const char *fault, int errnum)
{
    (void)dprintf(STDERR_FILENO, "%s%s%s%s%s\n", subject, subject[0] ? ": " : "", fault,
                  errnum ? ": " : "", errnum ? strerror(errnum) : "");
    return -1;
}

const char *tc_files_type(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static int fail_type(const struct tc_files_path *p, const char *what)
{
    char fault[128];
    (void)snprintf(fault, sizeof(fault), "is a %s, not a %s%s",
                   S_ISLNK(p->st.st_mode) ? "symbolic link" : tc_files_type(p->st.st_mode), what,
                   S_ISDIR(p->st.st_mode) ? " (a directory needs --recursive)" : "");
    return tc_files_fail(p->path, fault, 0);
}

int tc_files_need(const struct tc_files_path *p)
{
    return p->exists ? 0 : tc_files_fail(p->path, "cannot be used", ENOENT);
}

int tc_files_need_file(const struct tc_files_path *p)
{
    if (tc_files_need(p) < 0)
        return -1;
    return S_ISREG(p->st.st_mode) ? 0 : fail_type(p, "file");
}

int tc_files_need_directory(const struct tc_files_path *p)
{
    if (tc_files_need(p) < 0)
        return -1;
    return S_ISDIR(p->st.st_mode) ? 0 : fail_type(p, "directory");
}

/* `done`: how much of the path was read, with this component. */
static int fail_component(const struct tc_files_path *p, const char *name, size_t done)
{
    int errnum = errno;
    struct stat st;
    char prefix[PATH_MAX];
    (void)snprintf(prefix, sizeof(prefix), "%.*s", (int)done, p->path);
    bool link = fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    return link ? tc_files_fail(prefix, "is a symbolic link; give the path without links", 0)
                : tc_files_fail(prefix, "cannot be entered", errnum);
}

static int enter(struct tc_files_path *p, size_t done)
{
    int next = openat(p->dir, p->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
        return fail_component(p, p->name, done);
    (void)close(p->dir);
    p->dir = next;
    return 0;
}

/* The next component's length, 0 at the end, or -1. */
static int next_name(const struct tc_files_path *p, const char **at, char ret[NAME_MAX + 1])
{
    size_t n = 1;
    for (bool dot = true; dot;) {
        *at += strspn(*at, "/");
        n = strcspn(*at, "/");
        dot = n == 1 && **at == '.';
        *at += dot;
    }
    if (n > NAME_MAX)
        return tc_files_fail(p->path, "has a name that is too long", 0);
    if (n == 2 && !strncmp(*at, "..", 2))
        return tc_files_fail(p->path, "contains \"..\"; give the path without it", 0);
    memcpy(ret, *at, n);
    ret[n] = '\0';
    *at += n;
    return (int)n;
}

int tc_files_resolve(const char *path, struct tc_files_path *ret)
{
    struct tc_files_path *p = ret;
    const char *at = path;
    *p = (struct tc_files_path){.path = path, .dir = -1, .name = "."};
    if (!*path)
        return tc_files_fail("PATH", "is empty", 0);
    if (strlen(path) >= PATH_MAX)
        return tc_files_fail("PATH", "is too long", 0);
    p->dir = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0)
        return tc_files_fail(path, "cannot be used", errno);
    int n;
    char next[NAME_MAX + 1];
    for (size_t done = 0; (n = next_name(p, &at, next)) > 0; done = (size_t)(at - path)) {
        if (done && enter(p, done) < 0)
            return -1;
        memcpy(p->name, next, sizeof(next));
    }
    if (n < 0)
        return -1;
    p->exists = fstatat(p->dir, p->name, &p->st, AT_SYMLINK_NOFOLLOW) == 0;
    return p->exists || errno == ENOENT ? 0 : tc_files_fail(path, "cannot be used", errno);
}

void tc_files_path_done(struct tc_files_path *p)
{
    if (p->dir >= 0)
        (void)close(p->dir);
    p->dir = -1;
}
