/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "state/places.h"

enum { TRIES = 20, PAUSE_NS = 10000000, WAIT_NS = 200000 };

bool tc_store_own(int fd, mode_t type)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    errno = EPERM;
    return (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int tc_store_enter(int dirfd, const char *name)
{
    _autofd_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tc_store_own(fd, S_IFDIR) ? TAKE_FD(fd) : -1;
}

int tc_store_count(int store)
{
    _autodir_ DIR *dir = tc_list_dir(store);
    struct dirent *e;
    int count = 0;
    while (dir && tc_next_entry(dir, &e) > 0)
        count++;
    return dir ? count : -1;
}

static int open_below(const char *state, const char *name, bool make, char **ret_path)
{
    if (make && tc_make_directories(state) < 0)
        return -1;
    _autofd_ int parent = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!tc_store_own(parent, S_IFDIR) ||
        (make && mkdirat(parent, name, 0700) < 0 && errno != EEXIST))
        return -1;
    int dir = tc_store_enter(parent, name), saved = errno;
    free(*ret_path);
    *ret_path = dir < 0 ? tc_path_join(state, name) : NULL;
    errno = saved;
    return dir;
}

int tc_store_open(const char *name, bool make, char **ret_path)
{
    *ret_path = NULL;
    errno = ENOMEM;
    if (!tc_state_directory(ret_path))
        return -1;
    errno = ENXIO;
    _autofree_ char *state = *ret_path ? strdup(*ret_path) : NULL;
    return state ? open_below(state, name, make, ret_path) : -1;
}

int tc_store_lock(int own, bool patient)
{
    struct stat st;
    for (int i = 0; flock(own, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK || !patient || i == TRIES)
            return -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    if (fstat(own, &st) < 0)
        return -1;
    errno = ENOENT;
    return st.st_nlink ? 0 : -1;
}

int tc_store_wait(int fd, int how, int64_t most_us)
{
    int64_t until_us = tc_now_us() + most_us;
    while (flock(fd, how | LOCK_NB) < 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || tc_now_us() > until_us)
            return -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    return 0;
}

int tc_store_hold(int dir, int64_t most_us)
{
    _autofd_ int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return lock >= 0 && tc_store_wait(lock, LOCK_EX, most_us) == 0 ? TAKE_FD(lock) : -1;
}

static int make_dir(int store, const char *name, int most)
{
    int count = tc_store_count(store);
    if (count >= most)
        errno = EDQUOT;
    return count < 0 || count >= most ? -1 : mkdirat(store, name, 0700);
}

int tc_store_claim(int store, const char *name, int most)
{
    for (int i = 0; i < TRIES; i++) {
        _autofd_ int fd = tc_store_enter(store, name);
        if (fd >= 0 && tc_store_lock(fd, true) == 0)
            return TAKE_FD(fd);
        if (errno != ENOENT || (fd < 0 && make_dir(store, name, most) < 0 && errno != EEXIST))
            return -1;
    }
    errno = EAGAIN;
    return -1;
}

unsigned tc_store_sweep(int store, bool (*left)(int own, const char *name))
{
    unsigned gone = 0;
    _autodir_ DIR *dir = tc_list_dir(store);
    struct dirent *e;
    while (dir && tc_next_entry(dir, &e) > 0) {
        _autofd_ int own = tc_store_enter(store, e->d_name);
        gone += own >= 0 && left(own, e->d_name) && tc_store_lock(own, false) == 0 &&
                left(own, e->d_name) && tc_remove_tree(store, e->d_name) == 0;
    }
    return gone;
}

int tc_store_write(int dirfd, const char *name, const void *bytes, size_t len, mode_t mode)
{
    char id[TC_ULID_SIZE];
    _autofree_ char *fresh = tc_ulid(id) < 0 ? NULL : tc_format("%s.%s", name, id);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    _autofd_ int fd = fresh ? openat(dirfd, fresh, flags, 0600) : -1;
    if (fd < 0)
        return -1;
    if (tc_write_all(fd, bytes, len) == 0 && fchmod(fd, mode) == 0 &&
        renameat(dirfd, fresh, dirfd, name) == 0)
        return 0;
    int saved = errno;
    (void)unlinkat(dirfd, fresh, 0);
    errno = saved;
    return -1;
}

static const char prefix[] = "new-";

static char *make_name(void)
{
    char id[TC_ULID_SIZE];
    return tc_ulid(id) < 0 ? NULL : tc_format("%s%s", prefix, id);
}

int tc_store_begin(int store, char **ret_name)
{
    *ret_name = make_name();
    return *ret_name ? tc_store_claim(store, *ret_name, INT_MAX) : -1;
}

bool tc_store_is_begun(int own, const char *name)
{
    (void)own;
    return tc_startswith(name, prefix);
}

int tc_store_place(int from, const char *name, int to, const char *as, bool replaces)
{
    if (replaces && renameat2(from, name, to, as, RENAME_EXCHANGE) == 0)
        return 0;
    return renameat2(from, name, to, as, RENAME_NOREPLACE) == 0 || errno == EEXIST ? 0 : -1;
}

int tc_store_discard(int from, const char *name, int store)
{
    _autofree_ char *aside = make_name();
    if (!aside || renameat(from, name, store, aside) < 0)
        return -1;
    return tc_remove_tree(store, aside) < 0;
}

enum { DEEPEST = 550 }; /* of a walk that keeps one directory open per level */
enum { PASSES = 10000 };

/* Opens a directory to empty it, whatever mode its author gave it. */
static int open_to_empty(int dirfd, const char *name)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char path[64];
    int fd = openat(dirfd, name, O_RDONLY | flags);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0300) != 0300)
        (void)fchmod(fd, 0700);
    if (fd >= 0 || errno != EACCES)
        return fd;
    _autofd_ int closed = openat(dirfd, name, O_PATH | flags);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", closed);
    return closed < 0 || chmod(path, 0700) < 0 ? -1 : openat(dirfd, name, O_RDONLY | flags);
}

/* `top` is the first directory: directories that are too deep are moved there. */
static int remove_below(int top, int dirfd, const char *name, int depth)
{
    _autofree_ char *aside = NULL;
    if (unlinkat(dirfd, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (depth == DEEPEST)
        return (aside = make_name()) ? renameat(dirfd, name, top, aside) : -1;
    int fd = open_to_empty(dirfd, name);
    _autodir_ DIR *dir = tc_take_dir(fd);
    if (!dir)
        return -1;
    struct dirent *e;
    int rc = 0, more = 0;
    while (rc == 0 && (more = tc_next_entry(dir, &e)) > 0)
        rc = remove_below(depth ? top : fd, fd, e->d_name, depth + 1);
    return rc < 0 || more < 0 ? -1 : unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Again while there is something that was too deep. */
int tc_remove_tree(int dirfd, const char *name)
{
    int rc = remove_below(dirfd, dirfd, name, 0);
    for (int i = 0; rc < 0 && errno == ENOTEMPTY && i < PASSES; i++)
        rc = remove_below(dirfd, dirfd, name, 0);
    return rc;
}

enum { BLOCK = 512 };

static int64_t bytes_below(int dirfd, const char *name, int depth)
{
    struct stat st;
    struct dirent *e;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    int64_t sum = (int64_t)st.st_blocks * BLOCK;
    if (!S_ISDIR(st.st_mode))
        return sum;
    errno = ELOOP;
    int fd = depth == DEEPEST
                 ? -1
                 : openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _autodir_ DIR *dir = tc_take_dir(fd);
    int more = dir ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0) {
        int64_t one = bytes_below(fd, e->d_name, depth + 1);
        if (one < 0)
            return -1;
        sum += one;
    }
    return more < 0 ? -1 : sum;
}

int64_t tc_tree_bytes(int dirfd, const char *name)
{
    return bytes_below(dirfd, name, 0);
}
