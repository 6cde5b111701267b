/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/call/replace.h"

enum { BACKLOG = 1024 };

char *tc_local_path(struct tc_failure *failure)
{
    char *path = tc_user_path("XDG_STATE_HOME", ".local/state", "serve.sock");
    if (!path)
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                             "set HOME or XDG_STATE_HOME to an absolute path, or give --socket",
                             "there is no directory for the socket");
    return path;
}

static int fail(const char *path, const char *what, struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "give another path with --socket",
                          "cannot listen on %s: %s", path, what);
}

/* The directory of the socket, created if it is missing. Only this user may write it: others could
 * replace the socket. */
static int open_directory(const char *path, struct tc_failure *failure)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    _autofree_ char *dir = !slash          ? strdup(".")
                           : slash == path ? strdup("/")
                                           : strndup(path, (size_t)(slash - path));
    if (!dir)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (tc_record_directory(dir) < 0)
        return fail(path, strerror(errno), failure);
    _autofd_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(path, strerror(errno), failure);
    if (st.st_uid != geteuid() || st.st_mode & 022)
        return fail(path, "others can write its directory", failure);
    int ret = fd;
    fd = -1;
    return ret;
}

/* An address below the directory, however long its path is. */
static struct sockaddr_un address_in(int dir, const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", dir, name);
    return at;
}

static bool is_served(int dir, const char *name)
{
    struct sockaddr_un at = address_in(dir, name);
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 || errno == EAGAIN);
}

/* A helper that a killed server was starting may have the socket for a moment. */
static bool stays_served(int dir, const char *name)
{
    enum { TRIES = 20, PAUSE_NS = 50000000 };
    for (int i = 0; i < TRIES; i++) {
        if (!is_served(dir, name))
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return true;
}

static bool is_socket_or_missing(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno == ENOENT
                                                            : S_ISSOCK(st.st_mode);
}

/* Only another start holds the lock, for a moment. -1 with errno. */
static int lock_directory(int dir)
{
    enum { TRIES = 60, PAUSE_NS = 50000000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    errno = EWOULDBLOCK;
    return -1;
}

int tc_local_listen(const char *path, struct tc_failure *failure)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char fresh[40];
    _autofd_ int dir = open_directory(path, failure);
    if (dir < 0)
        return -1;
    if (!*name || strlen(name) > 60)
        return fail(path, "the name of a socket has 1 to 60 characters", failure);
    if (lock_directory(dir) < 0)
        return fail(path,
                    errno == EWOULDBLOCK ? "another process has locked its directory"
                                         : strerror(errno),
                    failure);
    if (!is_socket_or_missing(dir, name))
        return fail(path, "it exists and is not a socket", failure);
    if (stays_served(dir, name))
        return fail(path, "another server listens there", failure);
    (void)snprintf(fresh, sizeof(fresh), ".serve-%ld", (long)getpid());
    struct sockaddr_un at = address_in(dir, fresh);
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    int errnum = errno;
    (void)umask(mask);
    if (!bound)
        return fail(path, strerror(errnum), failure);
    if (listen(fd, BACKLOG) < 0 || renameat(dir, fresh, dir, name) < 0) {
        errnum = errno;
        (void)unlinkat(dir, fresh, 0);
        return fail(path, strerror(errnum), failure);
    }
    int ret = fd;
    fd = -1;
    return ret;
}

static bool is_number(const char *name, long number)
{
    const char *text = getenv(name);
    char *end = NULL;
    return text && *text && strtol(text, &end, 10) == number && !*end;
}

int tc_local_passed(struct tc_failure *failure)
{
    enum { FIRST = 3 };
    int listens = 0, domain = 0;
    socklen_t size = sizeof(int);
    if (!is_number("LISTEN_PID", getpid()))
        return -1;
    bool one = is_number("LISTEN_FDS", 1);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (one && getsockopt(FIRST, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
        getsockopt(FIRST, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
        return fcntl(FIRST, F_DUPFD_CLOEXEC, FIRST + 1);
    (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "set ListenStream= to one path",
                         "the service manager passed something else than one unix socket");
    return -2;
}
