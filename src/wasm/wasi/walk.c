/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Resolves a guest's path to a directory and a name in it, one component at a time with openat.
 * openat2 with RESOLVE_BENEATH cannot be used: the cages' seccomp filter denies openat2, because
 * the filter cannot read its mode behind a pointer. ".." returns to the fd of the earlier step, and
 * is never opened: if a directory is moved during the walk, the walk still cannot escape. Symlinks
 * are read and resolved here; an absolute one is refused. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "wasm/wasi/guest.h"

enum { DEPTH_MAX = 128, LINKS_MAX = 40 };

struct walk {
    int stack[DEPTH_MAX]; /* [0] is the starting directory, not owned */
    int depth;
    int links;
    char rest[2 * PATH_MAX]; /* the path left to resolve */
    bool follow, directory;
};

static void unwind(struct walk *w, int keep)
{
    for (; w->depth > keep; w->depth--)
        (void)close(w->stack[w->depth]);
}

static uint32_t back(struct walk *w)
{
    if (!w->depth)
        return WASI_NOTCAPABLE;
    unwind(w, w->depth - 1);
    return WASI_OK;
}

/* Puts the symlink's target before the rest. WASI_INVAL: not a symlink. */
static uint32_t expand(struct walk *w, const char *name, const char *rest)
{
    char words[2 * PATH_MAX];
    ssize_t n = readlinkat(w->stack[w->depth], name, words, PATH_MAX);
    if (n < 0)
        return tc_wasi_error(errno);
    if (n == 0 || words[0] == '/')
        return WASI_NOTCAPABLE;
    if (++w->links > LINKS_MAX || n == PATH_MAX)
        return WASI_LOOP;
    size_t left = strlen(rest);
    if ((size_t)n + 1 + left >= PATH_MAX)
        return WASI_NAMETOOLONG;
    if (left)
        words[n++] = '/';
    memcpy(words + n, rest, left + 1);
    memcpy(w->rest, words, (size_t)n + left + 1);
    return WASI_OK;
}

static uint32_t enter_directory(struct walk *w, const char *name, const char *rest)
{
    if (w->depth + 1 == DEPTH_MAX)
        return WASI_NAMETOOLONG;
    int fd = openat(w->stack[w->depth], name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOTDIR) {
        uint32_t error = expand(w, name, rest);
        return error == WASI_INVAL ? WASI_NOTDIR : error;
    }
    if (fd < 0)
        return tc_wasi_error(errno);
    w->stack[++w->depth] = fd;
    memmove(w->rest, rest, strlen(rest) + 1);
    return WASI_OK;
}

/* Takes the next component into `name`; *ret_rest is the path after it. */
static uint32_t cut(struct walk *w, char name[NAME_MAX + 1], const char **ret_rest)
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(from, "/");
    if (n > NAME_MAX)
        return WASI_NAMETOOLONG;
    memcpy(name, from, n);
    name[n] = '\0';
    *ret_rest = from + n + strspn(from + n, "/");
    w->directory |= from[n] == '/' && !**ret_rest;
    return WASI_OK;
}

/* Handles the last component; *ret_more: it was a symlink, and its target follows. */
static uint32_t last(struct walk *w, char name[NAME_MAX + 1], bool *ret_more)
{
    *ret_more = false;
    if (!w->follow && !w->directory)
        return WASI_OK;
    uint32_t error = expand(w, name, "");
    *ret_more = error == WASI_OK;
    return error == WASI_INVAL || error == WASI_NOENT ? WASI_OK : error;
}

static uint32_t walk_component(struct walk *w, char name[NAME_MAX + 1])
{
    for (;;) {
        const char *rest;
        bool more = false;
        uint32_t error = cut(w, name, &rest);
        if (error)
            return error;
        bool dot = !name[0] || strcmp(name, ".") == 0, dots = strcmp(name, "..") == 0;
        if (dots && (error = back(w)))
            return error;
        if ((dot || dots) && !*rest) {
            memcpy(name, ".", 2);
            w->directory = true;
            return WASI_OK;
        }
        if (dot || dots)
            memmove(w->rest, rest, strlen(rest) + 1);
        else if (*rest)
            error = enter_directory(w, name, rest);
        else if ((error = last(w, name, &more)) || !more)
            return error;
        if (error)
            return error;
    }
}

/* In a directory with selected names, the path must be one of the names, and symlinks are not
 * followed. */
static uint32_t check_only(const struct tc_wasi_fd *fd, const char *path)
{
    return tc_strv_has(&fd->root->only, path) ? WASI_OK : WASI_NOTCAPABLE;
}

static uint32_t read_path(const struct tc_wasi *w, const struct tc_wasi_where *where, char *ret)
{
    const char *from = tc_guest(w, where->path, where->length);
    if (!from)
        return WASI_FAULT;
    if (where->length >= PATH_MAX)
        return WASI_NAMETOOLONG;
    if (memchr(from, '\0', where->length))
        return WASI_INVAL;
    memcpy(ret, from, where->length);
    ret[where->length] = '\0';
    return ret[0] ? WASI_OK : WASI_NOENT;
}

/* Repeats a refused access as an open, so that the process's seccomp supervisor lists it. The open
 * has no effect: it fails for files, and a directory cannot be opened for writing. */
static void report_path(int dir, const char *path, bool change)
{
    int flags = change ? O_WRONLY : O_RDONLY;
    int fd = openat(dir, path, flags | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
}

/* WASI libraries take "." for the root of all paths: an absolute path outside the other roots
 * arrives without its slash. A path is taken for one if its first component is a usual top-level
 * directory that does not exist here. */
static bool was_absolute(int dir, const char *path)
{
    static const char *const names[] = {"etc", "home", "mnt", "opt", "root",
                                        "srv", "sys",  "usr", "var", "workspace"};
    char first[sizeof("workspace")] = "";
    size_t n = strcspn(path, "/");
    if (!path[n] || n >= sizeof(first))
        return false;
    memcpy(first, path, n);
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (strcmp(names[i], first) == 0)
            return faccessat(dir, first, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
    return false;
}

static void tell_refused(const struct tc_wasi_fd *fd, const char *path, bool change)
{
    char whole[PATH_MAX + 1] = "/";
    bool absolute =
        path[0] != '/' && fd->root &&
        (fd->root->outside || (strcmp(fd->root->name, ".") == 0 && was_absolute(fd->fd, path)));
    memcpy(whole + absolute, path, strlen(path) + 1);
    report_path(fd->fd, whole, change);
}

static uint32_t find_place(const struct tc_wasi_fd *fd, struct walk *walk, bool change,
                           struct tc_wasi_place *ret)
{
    uint32_t error;
    if (walk->rest[0] == '/')
        return WASI_NOTCAPABLE;
    if (fd->root && fd->root->outside)
        return change ? WASI_NOTCAPABLE : WASI_NOENT;
    if (change && !fd->writable)
        return WASI_ROFS;
    if (fd->root && fd->root->only.count) {
        walk->follow = false;
        if ((error = check_only(fd, walk->rest)))
            return error;
    }
    return walk_component(walk, ret->name);
}

uint32_t tc_wasi_walk(struct tc_wasi *w, const struct tc_wasi_where *where,
                      struct tc_wasi_place *ret)
{
    uint32_t error;
    char said[PATH_MAX];
    const struct tc_wasi_fd *fd = tc_wasi_get(w, where->fd, where->rights, &error);
    if (!fd)
        return error;
    if (fd->kind != TC_WASI_DIR)
        return WASI_NOTDIR;
    struct walk walk = {.stack = {fd->fd}, .follow = where->follow};
    if ((error = read_path(w, where, walk.rest)))
        return error;
    memcpy(said, walk.rest, strlen(walk.rest) + 1);
    error = find_place(fd, &walk, where->change, ret);
    if (error)
        tell_refused(fd, said, where->change);
    if (!error) {
        ret->dir = walk.stack[walk.depth];
        ret->depth = walk.depth;
        ret->directory = walk.directory;
        ret->owned = walk.depth ? ret->dir : -1;
        if (walk.depth)
            walk.depth--;
    }
    unwind(&walk, 0);
    return error;
}

void tc_wasi_leave(struct tc_wasi_place *place)
{
    if (place->owned >= 0)
        (void)close(TAKE_FD(place->owned));
}

bool tc_wasi_leads_out(const char *target, int depth)
{
    if (target[0] == '/')
        return true;
    for (const char *at = target; *at; at += strcspn(at, "/"), at += strspn(at, "/")) {
        size_t n = strcspn(at, "/");
        bool dots = n == 2 && at[0] == '.' && at[1] == '.';
        if (dots)
            depth--;
        else if (!(n == 1 && at[0] == '.'))
            depth++;
        if (depth < 0)
            return true;
    }
    return false;
}
