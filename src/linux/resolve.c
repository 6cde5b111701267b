/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/path.h"
#include "base/sys.h"

enum { LINKS_MAX = 40, NS_PER_S = 1000000000 };

int tc_file_identify(int fd, const char *path, struct tc_file_id *ret)
{
    struct statx st;
    if (statx(fd, path, AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &st) < 0)
        return -1;
    *ret =
        (struct tc_file_id){.dev = makedev(st.stx_dev_major, st.stx_dev_minor), .ino = st.stx_ino};
    if (st.stx_mask & STATX_BTIME)
        ret->born = st.stx_btime.tv_sec * NS_PER_S + st.stx_btime.tv_nsec;
    return 0;
}

void tc_resolver_init(struct tc_resolver *r, uid_t caller,
                      int (*learn)(struct tc_resolver *r, const void *context), const void *context)
{
    *r = (struct tc_resolver){.caller = caller, .learn = learn, .context = context};
}

int tc_resolver_add_id(struct tc_resolver *r, const struct tc_file_id *id)
{
    struct tc_file_id *slot = TC_PUSH(r->writable, r->writable_count);
    if (!slot) {
        errno = ENOMEM;
        return -1;
    }
    *slot = *id;
    return 0;
}

int tc_resolver_add(struct tc_resolver *r, const char *path)
{
    struct tc_file_id id;
    if (path[0] != '/')
        return 0;
    if (tc_file_identify(AT_FDCWD, path, &id) == 0)
        return tc_resolver_add_id(r, &id);
    /* a missing or unreachable path adds nothing */
    return errno == ENOMEM || errno == EPERM || errno == EINTR ? -1 : 0;
}

/* 0, or -1 with errno: not all could be read. */
static int learn(struct tc_resolver *r)
{
    if (!r->learned && r->learn && r->learn(r, r->context) < 0)
        return -1;
    r->learned = true;
    return 0;
}

void tc_resolver_done(struct tc_resolver *r)
{
    free(r->writable);
    *r = (struct tc_resolver){0};
}

/* Device numbers change when a file system is remounted; the creation time is used instead. */
static bool is_same(const struct tc_file_id *a, const struct tc_file_id *b)
{
    return a->ino == b->ino && (a->born && b->born ? a->born == b->born : a->dev == b->dev);
}

/* 1, 0, or -1 with errno. */
static int tool_can_write(const struct tc_resolver *r, int fd, const struct stat *st)
{
    struct tc_file_id id = {0};
    for (size_t i = 0; i < r->writable_count; i++) {
        if (r->writable[i].ino != st->st_ino)
            continue;
        if (!id.ino && tc_file_identify(fd, "", &id) < 0)
            return -1;
        if (is_same(&r->writable[i], &id))
            return 1;
    }
    return 0;
}

/* A walk in progress: the directory reached, and the rest of the path. */
struct walk {
    struct tc_resolver *r;
    int fd;
    int parent; /* the directory before; -1: none yet */
    struct stat st;
    bool frozen; /* inside a directory that a tool can write: no links from here on */
    bool blind;  /* `frozen` was needed before it was known */
    int links;
    char rest[PATH_MAX];
};

static bool trusted(const struct walk *w, uid_t owner)
{
    return owner == 0 || owner == w->r->caller;
}

static int enter_directory(struct walk *w, int fd)
{
    if (w->parent >= 0)
        (void)close(w->parent);
    w->parent = w->fd;
    w->fd = fd;
    if (fd < 0 || fstat(fd, &w->st) < 0)
        return -1;
    int writable = w->frozen ? 1 : tool_can_write(w->r, fd, &w->st);
    w->frozen = writable > 0;
    return writable < 0 ? -1 : 0;
}

/* Is `frozen` known? If not, the walk stops, and is repeated when it is. */
static bool sees(struct walk *w)
{
    w->blind = !w->r->learned;
    return !w->blind;
}

static int restart(struct walk *w)
{
    return enter_directory(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Puts the link's target before the rest. */
static int follow(struct walk *w, int link, const struct stat *st)
{
    char target[PATH_MAX], joined[PATH_MAX];
    if (w->frozen || !trusted(w, st->st_uid) || !trusted(w, w->st.st_uid) ||
        ++w->links > LINKS_MAX) {
        errno = ELOOP;
        return -1;
    }
    ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
    if (n < 0)
        return -1;
    target[n] = '\0';
    size_t left = strlen(w->rest);
    if ((size_t)n + 1 + left >= sizeof(joined)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(joined, target, (size_t)n);
    joined[n] = '/';
    memcpy(joined + n + 1, w->rest, left + 1);
    memcpy(w->rest, joined, (size_t)n + left + 2);
    return target[0] == '/' ? restart(w) : 0;
}

/* Takes the next component off `rest` into `name`; false at the end. A component that is too
 * long for any file system keeps one byte too many, so that opening it fails: truncated, it
 * would be another name. */
static bool next(struct walk *w, char name[NAME_MAX + 2])
{
    const char *p = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(p, "/");
    if (n == 0)
        return false;
    n = n > NAME_MAX + 1 ? NAME_MAX + 1 : n;
    memcpy(name, p, n);
    name[n] = '\0';
    memmove(w->rest, p + n, strlen(p + n) + 1);
    return true;
}

static int step(struct walk *w, const char *name)
{
    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0 && !sees(w))
        return -1;
    if (w->frozen && strcmp(name, "..") == 0) {
        errno = ELOOP;
        return -1;
    }
    int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return -1;
    int rc = fstat(fd, &st);
    if (rc == 0 && !S_ISLNK(st.st_mode))
        return enter_directory(w, fd);
    if (rc == 0)
        rc = sees(w) ? follow(w, fd, &st) : -1;
    (void)close(fd);
    return rc;
}

static int try(struct walk *w, const char *path, char name[NAME_MAX + 2])
{
    tc_strcopy(w->rest, sizeof(w->rest), path);
    if (strlen(path) >= sizeof(w->rest)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int rc = restart(w);
    while (rc == 0 && next(w, name))
        rc = step(w, name);
    return rc;
}

static void forget(struct walk *w)
{
    if (w->parent >= 0)
        (void)close(w->parent);
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (struct walk){.r = w->r, .fd = -1, .parent = -1};
}

/* Walks to the end, or as far as possible; `name` is the last component tried. */
static int go(struct walk *w, const char *path, char name[NAME_MAX + 2])
{
    int rc = try(w, path, name);
    if (rc == 0 || !w->blind)
        return rc;
    forget(w);
    return learn(w->r) < 0 ? -1 : try(w, path, name);
}

/* Not with O_NOFOLLOW, which would open a link at the end itself. */
static int open_plain(int dir, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return tc_openat2(dir, path, &how);
}

/* Most paths contain no link, and one system call resolves them; -1: walk the path, which also
 * finds the reason. */
static int go_straight(const char *path, char *where, int *ret_dir)
{
    if (!tc_path_is_clean(path))
        return -1;
    const char *name = strrchr(path, '/') + 1;
    _autofree_ char *parent = ret_dir ? tc_path_parent(path) : NULL;
    _autofd_ int dir = parent ? open_plain(AT_FDCWD, parent) : -1;
    if (ret_dir && dir < 0)
        return -1;
    int fd = ret_dir ? open_plain(dir, name) : open_plain(AT_FDCWD, path);
    if (fd < 0)
        return -1;
    tc_strcopy(where, PATH_MAX, name);
    if (ret_dir)
        *ret_dir = TAKE_FD(dir);
    return fd;
}

int tc_resolve_in(struct tc_resolver *r, const char *path, char *where, int *ret_dir)
{
    int straight = go_straight(path, where, ret_dir);
    if (straight >= 0)
        return straight;
    struct walk w = {.r = r, .fd = -1, .parent = -1};
    char name[NAME_MAX + 2] = "";
    int rc = go(&w, path, name);
    tc_strcopy(where, PATH_MAX, name);
    int saved = errno;
    if (w.parent >= 0 && (rc != 0 || !ret_dir))
        (void)close(w.parent);
    else if (ret_dir)
        *ret_dir = w.parent;
    if (rc == 0)
        return w.fd;
    if (w.fd >= 0)
        (void)close(w.fd);
    errno = saved;
    return -1;
}

int tc_resolve_name(int fd, char *real)
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, PATH_MAX);
    if (n < 0)
        return -1;
    if (n == PATH_MAX || n == 0 || real[0] != '/') {
        errno = n == PATH_MAX ? ENAMETOOLONG : EXDEV;
        return -1;
    }
    real[n] = '\0';
    return 0;
}

/* Appends `name` and the rest, which do not exist. */
static int append(char *real, const char *name, const char *rest)
{
    rest += strspn(rest, "/");
    size_t used = strcmp(real, "/") == 0 ? 0 : strlen(real), length = strlen(rest);
    while (length > 0 && rest[length - 1] == '/')
        length--;
    int n = snprintf(real + used, PATH_MAX - used, "/%s%s%.*s", name, length ? "/" : "",
                     (int)length, rest);
    if (n >= 0 && (size_t)n < PATH_MAX - used)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

int tc_resolve_links(struct tc_resolver *r, const char *path, char *real)
{
    struct walk w = {.r = r, .fd = -1, .parent = -1};
    char name[NAME_MAX + 2] = "";
    _autofd_ int straight = tc_path_is_clean(path) ? open_plain(AT_FDCWD, path) : -1;
    if (straight >= 0) {
        tc_strcopy(real, PATH_MAX, path);
        return 1;
    }
    int found = go(&w, path, name) == 0;
    _autofd_ int fd = w.fd, parent = w.parent;
    (void)parent;
    if (!found && ((errno != ENOENT && errno != ENOTDIR) || fd < 0))
        return -1;
    if (tc_resolve_name(fd, real) < 0 || (!found && append(real, name, w.rest) < 0))
        return -1;
    return found;
}

int tc_resolve_writable(struct tc_resolver *r, const char *path)
{
    struct walk w = {.r = r, .fd = -1, .parent = -1};
    char name[NAME_MAX + 2];
    int rc = learn(r) < 0 ? -1 : try(&w, path, name), saved = errno;
    bool writable = w.frozen || (rc < 0 && saved == ELOOP);
    forget(&w);
    errno = saved;
    return writable ? 1 : rc;
}

int tc_resolve(struct tc_resolver *r, const char *path, char *where)
{
    return tc_resolve_in(r, path, where, NULL);
}

int tc_resolve_plain(const char *path)
{
    return open_plain(AT_FDCWD, path);
}

int tc_resolve_beneath(int dirfd, const char *relative)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return tc_openat2(dirfd, relative[0] ? relative : ".", &how);
}

int tc_resolve_parent(int dirfd, const char *relative)
{
    const char *slash = strrchr(relative, '/');
    _autofree_ char *parent = strndup(relative, slash ? (size_t)(slash - relative) : 0);
    return parent ? tc_resolve_beneath(dirfd, parent) : -1;
}

int tc_resolve_object(int dirfd, const char *relative)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return tc_openat2(dirfd, relative, &how);
}

char *tc_link_target(int dirfd, const char *name)
{
    char text[PATH_MAX];
    ssize_t n = readlinkat(dirfd, name, text, sizeof(text));
    return n < 0 ? NULL : strndup(text, (size_t)n);
}
