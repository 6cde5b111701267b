/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "publish/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"

/* BUFFER: of accepted sockets, too; the peers are on this host. */
enum { BACKLOG = 256, BUFFER = 1 << 17 };

static bool fail(const char **ret_why, int errnum, const char *why)
{
    *ret_why = why;
    errno = errnum;
    return false;
}

static bool fail_system(const char **ret_why, const char *why)
{
    return fail(ret_why, errno, why);
}

static int open_socket(int family)
{
    const int size = BUFFER;
    _autofd_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* ---- a loopback address ---- */

static bool listen_at(const struct tc_publish *publish, struct tc_published *ret,
                      const char **ret_why)
{
    struct tc_publish bound = *publish;
    socklen_t size =
        publish->at.any.sa_family == AF_INET6 ? sizeof(bound.at.v6) : sizeof(bound.at.v4);
    const int yes = 1;
    ret->fd = open_socket(publish->at.any.sa_family);
    if (ret->fd < 0 || setsockopt(ret->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
        return fail_system(ret_why, "cannot be used");
    if (bind(ret->fd, &publish->at.any, size) < 0 || listen(ret->fd, BACKLOG) < 0)
        return fail_system(ret_why,
                           errno == EADDRINUSE ? "is in use by another program" : "cannot be used");
    if (getsockname(ret->fd, &bound.at.any, &size) < 0)
        return fail_system(ret_why, "cannot be used");
    ret->text = tc_publish_write(&bound, NULL);
    return ret->text || fail(ret_why, ENOMEM, "cannot be used");
}

/* ---- a unix socket ---- */

/* A path of any length, through the directory. */
static bool address_in(int directory, const char *name, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", directory, name);
    return n > 0 && (size_t)n < sizeof(ret->sun_path);
}

static bool open_directory(const char *path, struct tc_published *ret, const char **ret_why)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    struct stat st;
    _autofree_ char *parent = tc_path_parent(path);
    ret->name = strdup(tc_path_base(path));
    if (!parent || !ret->name)
        return fail(ret_why, ENOMEM, "cannot be used");
    ret->directory = tc_openat2(AT_FDCWD, parent, &how);
    if (ret->directory < 0)
        return fail_system(ret_why, errno == ELOOP ? "has a symbolic link in its path"
                                                   : "is in a directory that cannot be opened");
    if (fstat(ret->directory, &st) < 0)
        return fail_system(ret_why, "is in a directory that cannot be examined");
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return fail(ret_why, 0, "is in a directory that others can write");
    return true;
}

/* Does no program listen on this socket file? */
static bool is_dead(const struct sockaddr_un *at)
{
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 &&
           errno == ECONNREFUSED;
}

static bool make_room(const struct tc_published *p, const struct sockaddr_un *at,
                      const char **ret_why)
{
    struct stat st;
    if (fstatat(p->directory, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || fail_system(ret_why, "cannot be examined");
    if (!S_ISSOCK(st.st_mode))
        return fail(ret_why, EEXIST, "is a file that is not a socket");
    if (!is_dead(at))
        return fail(ret_why, EADDRINUSE, "is in use by another program");
    return unlinkat(p->directory, p->name, 0) == 0 || fail_system(ret_why, "cannot be replaced");
}

static bool listen_unix(const struct tc_publish *publish, struct tc_published *ret,
                        const char **ret_why)
{
    struct sockaddr_un at;
    struct stat st;
    if (!open_directory(publish->path, ret, ret_why))
        return false;
    if (!address_in(ret->directory, ret->name, &at))
        return fail(ret_why, ENAMETOOLONG, "has a name that is too long");
    if (!make_room(ret, &at, ret_why))
        return false;
    ret->fd = open_socket(AF_UNIX);
    /* before bind(): the file never has another mode */
    if (ret->fd < 0 || fchmod(ret->fd, S_IRUSR | S_IWUSR) < 0 ||
        bind(ret->fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
        return fail_system(ret_why, "cannot be created");
    if (fstatat(ret->directory, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode))
        return fail_system(ret_why, "was replaced while it was created");
    ret->device = st.st_dev;
    ret->inode = st.st_ino;
    if ((st.st_mode & 0777) != (S_IRUSR | S_IWUSR) || listen(ret->fd, BACKLOG) < 0)
        return fail_system(ret_why, "cannot be created");
    ret->text = tc_publish_write(publish, NULL);
    return ret->text || fail(ret_why, ENOMEM, "cannot be used");
}

bool tc_publish_listen(const struct tc_publish *publish, struct tc_published *ret,
                       const char **ret_why)
{
    *ret = (struct tc_published){.fd = -1, .directory = -1};
    bool fine =
        publish->path ? listen_unix(publish, ret, ret_why) : listen_at(publish, ret, ret_why);
    int errnum = errno;
    if (!fine)
        tc_published_done(ret);
    errno = errnum;
    return fine;
}

void tc_published_done(struct tc_published *p)
{
    struct stat st;
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->inode && fstatat(p->directory, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_dev == p->device && st.st_ino == p->inode)
        (void)unlinkat(p->directory, p->name, 0);
    if (p->directory >= 0)
        (void)close(p->directory);
    free(p->name);
    free(p->text);
    *p = (struct tc_published){.fd = -1, .directory = -1};
}
