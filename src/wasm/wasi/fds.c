/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The guest's fds: preopened ones, rights, closing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "wasm/wasi/guest.h"

void tc_wasi_init(struct tc_wasi *w, int base)
{
    w->base = base;
    w->begun_ns = tc_wasi_now(CLOCK_THREAD_CPUTIME_ID);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        w->fds[fd] = (struct tc_wasi_fd){
            .kind = TC_WASI_STREAM, .fd = fd, .writable = true, .rights = WASI_R_STREAM};
}

static struct tc_wasi_root *root_named(struct tc_wasi *w, const char *name)
{
    for (size_t i = 0; i < w->root_count; i++)
        if (strcmp(w->roots[i].name, name) == 0)
            return &w->roots[i];
    return NULL;
}

static bool put_root(struct tc_wasi *w, int fd, const char *name, const char *only, bool writable)
{
    uint32_t number;
    struct tc_wasi_fd *place = tc_wasi_free(w, &number);
    struct tc_wasi_root *root = &w->roots[w->root_count];
    errno = EMFILE;
    if (!place || w->root_count == TC_WASI_FDS)
        return false;
    errno = ENOMEM;
    root->name = strdup(name);
    if (!root->name || (only && !tc_strv_add(&root->only, only)))
        return false;
    w->root_count++;
    *place = (struct tc_wasi_fd){.kind = TC_WASI_DIR,
                                 .fd = fd,
                                 .writable = writable,
                                 .root = root,
                                 .rights = WASI_R_DIR,
                                 .inherits = WASI_R_DIR | WASI_R_FILE};
    return true;
}

/* Opens one component, and closes the directory before it, unless that is the base. */
static int step(int base, int at, const char *name, size_t length, int flags)
{
    _autofree_ char *one = strndup(name, length);
    int next = one ? openat(at, one, flags | O_NOFOLLOW | O_CLOEXEC) : -1;
    int saved = errno;
    if (at != base)
        (void)close(at);
    errno = saved;
    return next;
}

/* Below a base directory no symlink is followed: it would resolve against the process's own root.
 */
static int open_from(int base, const char *path, int flags)
{
    const char *name = path + strspn(path, "/");
    int at = *name ? base : openat(base, ".", flags | O_DIRECTORY | O_CLOEXEC);
    while (*name && at >= 0) {
        size_t n = strcspn(name, "/");
        const char *next = name + n + strspn(name + n, "/");
        at = step(base, at, name, n, *next ? O_PATH : flags);
        name = next;
    }
    return at;
}

static int open_at(const struct tc_wasi *w, const char *path, int flags)
{
    return w->base == AT_FDCWD ? open(path, flags | O_CLOEXEC) : open_from(w->base, path, flags);
}

/* Opens with O_PATH. */
static int open_path(const struct tc_wasi *w, const char *path)
{
    return open_at(w, path, O_PATH);
}

static int open_found(int at)
{
    return at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Adds the file's directory with only that name visible, unless the directory itself is granted.
 * The directory is writable if one of its files is: the cage enforces which. */
static bool put_file(struct tc_wasi *w, const char *path, bool writable)
{
    _autofree_ char *parent = tc_path_parent(path);
    errno = ENOMEM;
    if (!parent)
        return false;
    struct tc_wasi_root *root = root_named(w, parent);
    for (size_t i = 0; root && i < TC_WASI_FDS; i++)
        w->fds[i].writable |= w->fds[i].root == root && writable;
    if (root)
        return !root->only.count || tc_strv_add(&root->only, tc_path_base(path));
    _autofd_ int at = open_path(w, parent), fd = open_found(at);
    if (fd < 0 || !put_root(w, fd, parent, tc_path_base(path), writable))
        return false;
    (void)TAKE_FD(fd);
    return true;
}

static bool add_file(struct tc_wasi *w, const char *path, bool writable)
{
    struct stat st = {0};
    int why = errno;
    _autofd_ int at = open_path(w, path);
    if (at < 0 ? errno != ENOENT || !writable : fstat(at, &st) < 0)
        return false;
    if (!S_ISDIR(st.st_mode)) /* or missing */
        return put_file(w, path, writable);
    errno = why;
    return false;
}

bool tc_wasi_add_root(struct tc_wasi *w, const char *path, const char *name, bool writable)
{
    _autofd_ int fd = open_at(w, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return add_file(w, path, writable);
    if (!put_root(w, fd, name ? name : path, NULL, writable))
        return false;
    (void)TAKE_FD(fd);
    return true;
}

bool tc_wasi_add_outside(struct tc_wasi *w)
{
    static int outside = -1;
    if (outside < 0)
        outside = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (outside < 0 || !put_root(w, outside, "/", NULL, false))
        return false;
    w->roots[w->root_count - 1].outside = true;
    return true;
}

/* Standard streams stay open, so that no other file gets their numbers. */
static void drop_fd(struct tc_wasi_fd *fd)
{
    if (fd->fd > STDERR_FILENO && !(fd->root && fd->root->outside))
        (void)close(fd->fd);
    *fd = (struct tc_wasi_fd){0};
}

void tc_wasi_done(struct tc_wasi *w)
{
    for (size_t i = 0; i < TC_WASI_FDS; i++)
        if (w->fds[i].kind != TC_WASI_FREE)
            drop_fd(&w->fds[i]);
    for (size_t i = 0; i < w->root_count; i++) {
        free(w->roots[i].name);
        tc_strv_done(&w->roots[i].only);
        w->roots[i] = (struct tc_wasi_root){0};
    }
    free(w->seen);
    tc_strv_done(&w->args);
    tc_strv_done(&w->env);
    memset(w, 0, offsetof(struct tc_wasi, fds));
}

struct tc_wasi_fd *tc_wasi_get(struct tc_wasi *w, uint64_t number, uint64_t rights,
                               uint32_t *ret_error)
{
    struct tc_wasi_fd *fd = number < TC_WASI_FDS ? &w->fds[number] : NULL;
    *ret_error = WASI_BADF;
    if (!fd || fd->kind == TC_WASI_FREE)
        return NULL;
    *ret_error = WASI_NOTCAPABLE;
    return (fd->rights & rights) == rights ? fd : NULL;
}

struct tc_wasi_fd *tc_wasi_free(struct tc_wasi *w, uint32_t *ret_number)
{
    for (uint32_t i = STDERR_FILENO + 1; i < TC_WASI_FDS; i++) {
        *ret_number = i;
        if (w->fds[i].kind == TC_WASI_FREE)
            return &w->fds[i];
    }
    return NULL;
}

uint32_t tc_wasi_fd_close(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], 0, &error);
    if (!fd)
        return error;
    drop_fd(fd);
    return WASI_OK;
}

/* A preopened fd cannot be moved, but it can be closed, and so replaced. */
uint32_t tc_wasi_fd_renumber(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct tc_wasi_fd *from = tc_wasi_get(w, a[0], 0, &error);
    struct tc_wasi_fd *to = from ? tc_wasi_get(w, a[1], 0, &error) : NULL;
    if (!to)
        return error;
    if (from->root)
        return WASI_NOTSUP;
    if (from == to)
        return WASI_OK;
    struct tc_wasi_fd moved = *from;
    *from = (struct tc_wasi_fd){0};
    drop_fd(to);
    *to = moved;
    return WASI_OK;
}

uint32_t tc_wasi_fd_prestat_get(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], 0, &error);
    if (!fd || !fd->root)
        return WASI_BADF;
    return tc_guest_put32(w, a[1], 0) &&
                   tc_guest_put32(w, a[1] + 4, (uint32_t)strlen(fd->root->name))
               ? WASI_OK
               : WASI_FAULT;
}

uint32_t tc_wasi_fd_prestat_dir_name(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], 0, &error);
    if (!fd || !fd->root)
        return WASI_BADF;
    size_t length = strlen(fd->root->name);
    if (a[2] < length)
        return WASI_NAMETOOLONG;
    void *to = tc_guest(w, a[1], length);
    if (!to)
        return WASI_FAULT;
    memcpy(to, fd->root->name, length);
    return WASI_OK;
}

static uint16_t flags_of(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return 0;
    return (uint16_t)((flags & O_APPEND ? WASI_FD_APPEND : 0) |
                      ((flags & O_SYNC) == O_SYNC ? WASI_FD_SYNC : 0) |
                      ((flags & O_SYNC) == O_DSYNC ? WASI_FD_DSYNC : 0));
}

uint32_t tc_wasi_fd_fdstat_get(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct stat st;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], 0, &error);
    uint8_t *to = tc_guest(w, a[1], WASI_FDSTAT_SIZE);
    if (!fd || !to)
        return fd ? WASI_FAULT : error;
    if (fstat(fd->fd, &st) < 0)
        return tc_wasi_error(errno);
    uint16_t flags = flags_of(fd->fd);
    memset(to, 0, WASI_FDSTAT_SIZE);
    /* guests take a character device for a terminal; a call's stream is never one */
    to[0] = fd->kind == TC_WASI_STREAM ? WASI_TYPE_UNKNOWN : tc_wasi_type(st.st_mode);
    memcpy(to + 2, &flags, sizeof(flags));
    memcpy(to + 8, &fd->rights, sizeof(fd->rights));
    memcpy(to + 16, &fd->inherits, sizeof(fd->inherits));
    return WASI_OK;
}

/* A file stays non-blocking; only O_APPEND can change. */
uint32_t tc_wasi_fd_fdstat_set_flags(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_SET_FLAGS, &error);
    if (!fd)
        return error;
    if (a[1] & ~(uint64_t)(WASI_FD_APPEND | WASI_FD_NONBLOCK))
        return WASI_NOTSUP;
    if (fd->kind != TC_WASI_FILE)
        return WASI_OK;
    return tc_wasi_answer(
        fcntl(fd->fd, F_SETFL, O_NONBLOCK | (a[1] & WASI_FD_APPEND ? O_APPEND : 0)));
}

/* Rights can be dropped, never gained. */
uint32_t tc_wasi_fd_fdstat_set_rights(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], 0, &error);
    if (!fd)
        return error;
    if ((fd->rights & a[1]) != a[1] || (fd->inherits & a[2]) != a[2])
        return WASI_NOTCAPABLE;
    fd->rights = a[1];
    fd->inherits = a[2];
    return WASI_OK;
}
