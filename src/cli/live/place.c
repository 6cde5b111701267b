/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "cli/call/replace.h"

enum { NAME_LONGEST = 64, WAITING_MAX = 16, NAMES_MAX = 1024 };

#define LOCK_SUFFIX ".lock"

static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    size_t n = strlen(name);
    return n && n <= NAME_LONGEST && name[0] != '.' && name[0] != '-' &&
           strspn(name, letters) == n && !strstr(name, LOCK_SUFFIX);
}

int tc_place_check(const char *name, struct tc_failure *failure)
{
    return is_name(name)
               ? 0
               : tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                "up to 64 letters, digits, dots, dashes and underscores, no dot or "
                                "dash first",
                                "\"%s\" cannot be the name of a session", name);
}

static int fail_place(struct tc_failure *failure, const char *what)
{
    int errnum = errno;
    (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                         "check the directory toolcage/live in ~/.local/state; only you may write "
                         "to it",
                         "cannot %s live sessions: %s", what, strerror(errnum));
    errno = errnum;
    return -1;
}

static bool is_private(int dir)
{
    struct stat st;
    if (fstat(dir, &st))
        return false;
    if (st.st_uid == geteuid() && !(st.st_mode & 077))
        return true;
    errno = EPERM;
    return false;
}

/* The directory; -1 with errno. */
static int open_place(bool make)
{
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", "live");
    if (!path) {
        errno = ENOENT;
        return -1;
    }
    if (make && tc_record_directory(path))
        return -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0 && errno == ENOTDIR && !make)
        errno = ENOENT; /* a home that is not a directory has no sessions */
    if (dir >= 0 && !is_private(dir)) {
        (void)close(dir);
        return -1;
    }
    return dir;
}

/* The path of a socket may have 107 bytes; this one is short whatever the directory's is. */
static void name_socket(int dir, const char *name, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", dir, name);
}

/* Does the name still lead to the locked file? The last owner may have removed it meanwhile. */
static bool is_at(int fd, int dir, const char *file)
{
    struct stat held, named;
    return !fstat(fd, &held) && !fstatat(dir, file, &named, AT_SYMLINK_NOFOLLOW) &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* Locks the session's name; -1 with errno, EWOULDBLOCK if it lives. */
static int lock_name(int dir, const char *name, bool make)
{
    enum { TRIES = 10 };
    char file[NAME_LONGEST + sizeof(LOCK_SUFFIX)];
    (void)snprintf(file, sizeof(file), "%s" LOCK_SUFFIX, name);
    for (int i = 0; i < TRIES; i++) {
        int fd = openat(dir, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
        bool locked = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);
        int errnum = errno;
        if (fd < 0 || (locked && is_at(fd, dir, file)))
            return fd;
        (void)close(fd);
        errno = errnum;
        if (!locked)
            return -1;
    }
    errno = EWOULDBLOCK;
    return -1;
}

static int listen_at(int dir, const char *name)
{
    struct sockaddr_un at;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    name_socket(dir, name, &at);
    (void)unlinkat(dir, name, 0); /* of an owner that was killed: the lock is ours */
    mode_t mask = umask(0177);
    bool fine =
        fd >= 0 && !bind(fd, (const struct sockaddr *)&at, sizeof(at)) && !listen(fd, WAITING_MAX);
    (void)umask(mask);
    if (fine)
        return fd;
    int errnum = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = errnum;
    return -1;
}

int tc_place_listen(const char *name, int *ret_lock, int *ret_listener, struct tc_failure *failure)
{
    _autofd_ int dir = open_place(true);
    if (dir < 0)
        return fail_place(failure, "make a directory for");
    *ret_lock = lock_name(dir, name, true);
    if (*ret_lock < 0 && errno == EWOULDBLOCK) {
        _autofree_ char *hint = tc_cli_format("toolcage session end %s, or another name", name);
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint, "a live session %s runs already",
                              name);
    }
    *ret_listener = *ret_lock < 0 ? -1 : listen_at(dir, name);
    return *ret_listener < 0 ? fail_place(failure, "listen for") : 0;
}

static bool is_same_user(int sock)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}

int tc_place_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || is_same_user(fd))
        return fd;
    (void)close(fd);
    return -1;
}

static int connect_to(int dir, const char *name)
{
    struct sockaddr_un at;
    int fd = dir < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    name_socket(dir, name, &at);
    if (fd < 0)
        return -1;
    errno = EPERM;
    if (!connect(fd, (const struct sockaddr *)&at, sizeof(at)) && is_same_user(fd))
        return fd;
    int errnum = errno == ECONNREFUSED ? ENOENT : errno;
    (void)close(fd);
    errno = errnum;
    return -1;
}

int tc_place_connect(const char *name, struct tc_failure *failure)
{
    _autofd_ int dir = open_place(false);
    int fd = connect_to(dir, name);
    if (fd >= 0 || errno != ENOENT)
        return fd < 0 ? fail_place(failure, "connect to") : fd;
    _autofree_ char *hint = tc_cli_format("toolcage session start %s", name);
    (void)tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, hint, "there is no live session %s", name);
    errno = ENOENT;
    return -1;
}

void tc_place_leave(const char *name)
{
    char file[NAME_LONGEST + sizeof(LOCK_SUFFIX)];
    _autofd_ int dir = open_place(false);
    (void)snprintf(file, sizeof(file), "%s" LOCK_SUFFIX, name);
    if (dir < 0)
        return;
    (void)unlinkat(dir, name, 0);
    (void)unlinkat(dir, file, 0);
}

/* Is the session's lock held? */
static bool lives(int dir, const char *name)
{
    int fd = lock_name(dir, name, false);
    if (fd < 0)
        return errno == EWOULDBLOCK;
    (void)close(fd);
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_names(DIR *dir, char **names)
{
    size_t count = 0;
    for (struct dirent *entry; count < NAMES_MAX && (entry = readdir(dir));)
        if (is_name(entry->d_name) && lives(dirfd(dir), entry->d_name) &&
            (names[count] = strdup(entry->d_name)))
            count++;
    qsort(names, count, sizeof(*names), by_name);
}

char **tc_place_list(struct tc_failure *failure)
{
    int fd = open_place(false);
    bool none = fd < 0 && errno == ENOENT;
    char **names = calloc(NAMES_MAX + 1, sizeof(*names));
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir && names)
        add_names(dir, names);
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        (void)close(fd);
    if (names && (dir || none))
        return names;
    (void)fail_place(failure, "list");
    free(names);
    return NULL;
}

void tc_place_list_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
