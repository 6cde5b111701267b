/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prepared roots. A root is a small tmpfs with read-only bind mounts of the system directories,
 * generated files of /etc, a minimal /dev, and the mount points of a grant. The helper builds each
 * distinct root once and caches it. Every cage gets a detached clone: one system call instead of
 * thirty. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "linux/mounts.h"
#include "policy/names/system_paths.h"
#include "system/system.h"

enum { COPY_MAX = 256 << 10, ROOT_BYTES = 32 << 20 };

static struct root {
    char *base;   /* key of its content; NULL: a free slot */
    char *points; /* its mount points; NULL: none yet, and no cage uses the root */
    int fd;
    uint64_t serial; /* never reused */
    uint64_t used;   /* last use, for evicting the oldest */
} roots[TC_ROOT_CACHE_SLOTS];
static uint64_t uses, serials;

static int fail_at(const char *step, const char **ret_step)
{
    *ret_step = step;
    return -1;
}

static const char *relative(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int make_parent(int root, const char *at)
{
    _autofree_ char *parent = strdup(at);
    char *slash = parent ? strrchr(parent, '/') : NULL;
    if (!slash)
        return parent ? 0 : -1;
    *slash = '\0';
    return tc_mkdirs(root, parent);
}

static int put_link(int root, const char *at, const char *from)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);
    if (n < 0 || make_parent(root, at) < 0)
        return -1;
    target[n] = '\0';
    return symlinkat(target, root, at);
}

/* A tool never sees a partial replacement of a file that is copied. */
static int put_copy(int root, const char *at, const char *from, const struct stat *st)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, st->st_mtim};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = COPY_MAX;
    if (tc_read_file(AT_FDCWD, from, &text) < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    if (tc_put_file(root, at, text.data, text.len, 0444) < 0)
        return -1;
    return utimensat(root, at, times, AT_SYMLINK_NOFOLLOW); /* programs compare it with caches */
}

static int put_bind(int root, const char *at, const char *from, bool directory)
{
    _autofd_ int fd = open(from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    _autofd_ int tree = fd < 0 ? -1 : tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL);
    if (tree < 0)
        return errno == ENOENT ? 0 : -1;
    int made = directory ? tc_mkdirs(root, at) : tc_put_file(root, at, "", 0, 0444);
    return made < 0 ? -1 : tc_move_mount(tree, root, at);
}

/* The host's time zone may be a link to a path that no cage shows. */
static bool leads_away(const char *from, struct stat *ret)
{
    char real[PATH_MAX];
    return realpath(from, real) && !tc_system_path_find(real) && tc_system_path_find(from) &&
           stat(real, ret) == 0 && S_ISREG(ret->st_mode);
}

/* Adds a system directory, file or symlink as on the host; a small file as a copy, if `copies`. As
 * root, toolcage can read files that the tool cannot: those are left out. */
static int put_system(int root, const char *path, const char *from, bool copies)
{
    struct stat st;
    const char *at = relative(path);
    if (lstat(from, &st) < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    if (S_ISLNK(st.st_mode) && !leads_away(from, &st))
        return put_link(root, at, from);
    if (S_ISDIR(st.st_mode))
        return put_bind(root, at, from, true);
    if (!(st.st_mode & S_IROTH))
        return 0;
    bool copied = copies && S_ISREG(st.st_mode) && st.st_size <= COPY_MAX;
    return copied ? put_copy(root, at, from, &st) : put_bind(root, at, from, false);
}

/* A later version, written into the same file, may hold what must not be shown. */
static int put_git(int root, const char *path)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    return tc_system_git(AT_FDCWD, path, &text)
               ? tc_put_file(root, relative(path), text.data, text.len, 0444)
               : 0;
}

static int put_shown(int root, const char *path)
{
    return strcmp(path, TC_SYSTEM_GIT) == 0 ? put_git(root, path)
                                            : put_system(root, path, path, false);
}

/* Files are mounted, which takes a third of the time of a copy: there may be a hundred, and package
 * managers replace them by name, so none is seen half-written. The first path of the plan's
 * `system` that cannot be added is in `path`. */
static int put_more(int root, const struct tc_plan *plan, char path[PATH_MAX])
{
    for (const char *at = plan->system; tc_system_next(&at, path);)
        if (!tc_tree_denied(plan, path) && put_shown(root, path) < 0)
            return -1;
    return 0;
}

static int put_users(int root, const struct tc_root_spec *spec)
{
    char passwd[256], group[256];
    (void)snprintf(
        passwd, sizeof(passwd),
        "tool:x:%u:%u:tool:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
        spec->uid, spec->gid);
    (void)snprintf(group, sizeof(group), "tool:x:%u:\nnogroup:x:65534:\n", spec->gid);
    if (!tc_tree_denied(spec->plan, "/etc/passwd") &&
        tc_put_file(root, "etc/passwd", passwd, strlen(passwd), 0444) < 0)
        return -1;
    if (tc_tree_denied(spec->plan, "/etc/group"))
        return 0;
    return tc_put_file(root, "etc/group", group, strlen(group), 0444);
}

static int put_device_at(int root, const char *host, const char *at)
{
    _autofd_ int from = open(host, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (from < 0 || fstat(from, &st) < 0)
        return -1;
    if (!S_ISCHR(st.st_mode)) {
        errno = ENODEV;
        return -1;
    }
    _autofd_ int tree =
        tc_tree_open(from, &(struct tc_tree){.writable = true, .device = true, .userns = -1}, NULL);
    if (tree < 0 || tc_put_file(root, at, "", 0, 0666) < 0)
        return -1;
    return tc_move_mount(tree, root, at);
}

static int put_device(int root, const char *name)
{
    char host[32];
    (void)snprintf(host, sizeof(host), "/dev/%s", name);
    return put_device_at(root, host, host + 1);
}

/* The mount point of a private devpts, and /dev/tty, which opens the opener's own controlling
 * terminal and so reaches no other. */
static int put_terminals(int root)
{
    if (tc_mkdirs(root, "dev/pts") < 0 || symlinkat("pts/ptmx", root, "dev/ptmx") < 0)
        return -1;
    return put_device(root, "tty");
}

static int put_devices(int root, bool shares_memory)
{
    static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"},
                                           {"/proc/self/fd/0", "dev/stdin"},
                                           {"/proc/self/fd/1", "dev/stdout"},
                                           {"/proc/self/fd/2", "dev/stderr"},
                                           {"/tmp", "dev/shm"}}; /* the last one */
    for (size_t i = 0; i < TC_DEVICES; i++)
        if (put_device(root, tc_devices[i]) < 0)
            return -1;
    if (shares_memory && tc_mkdirs(root, "dev/shm") < 0)
        return -1;
    for (size_t i = 0; i < TC_COUNT(links) - shares_memory; i++)
        if (symlinkat(links[i][0], root, links[i][1]) < 0)
            return -1;
    return 0;
}

static int put_point(int root, const struct tc_root_point *point)
{
    const char *at = relative(point->path);
    if (point->directory)
        return tc_mkdirs(root, at);
    return tc_put_file(root, at, "", 0, 0444) < 0 && errno != EEXIST ? -1 : 0;
}

/* Is the mount part of the prepared root (not a granted path), and not denied? */
static bool shown(const struct tc_root_spec *spec, const struct tc_mount *m)
{
    return m->kind != TC_MOUNT_READ && m->kind != TC_MOUNT_WRITE && m->kind != TC_MOUNT_SOCKET &&
           !tc_tree_denied(spec->plan, m->path);
}

static int put_mount(int root, const struct tc_mount *m)
{
    switch (m->kind) {
    case TC_MOUNT_SYSTEM:
        return put_system(root, m->path, m->from, true);
    case TC_MOUNT_FILE:
        return tc_put_file(root, relative(m->path), m->content, strlen(m->content), 0444);
    case TC_MOUNT_DEVICE:
        return put_device_at(root, m->from, relative(m->path));
    case TC_MOUNT_READ:
    case TC_MOUNT_WRITE:
    case TC_MOUNT_SOCKET:
        break;
    }
    return 0;
}

static int fill_root(int root, const struct tc_root_spec *spec, const char **ret_step)
{
    static const char *const directories[] = {"proc", "tmp", TC_ROOT_SPARE, "etc"};
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        if (tc_mkdirs(root, directories[i]) < 0)
            return fail_at(directories[i], ret_step);
    for (size_t i = 0; i < spec->plan->mount_count; i++)
        if (shown(spec, &spec->plan->mounts[i]) && put_mount(root, &spec->plan->mounts[i]) < 0)
            return fail_at(spec->plan->mounts[i].path, ret_step);
    static char more[PATH_MAX]; /* the step outlives this function; one thread builds roots */
    if (put_more(root, spec->plan, more) < 0)
        return fail_at(more, ret_step);
    if (put_users(root, spec) < 0)
        return fail_at("/etc/passwd", ret_step);
    if (put_devices(root, tc_plan_shares_memory(spec->plan)) < 0 || put_terminals(root) < 0)
        return fail_at("/dev", ret_step);
    return 0;
}

static void unmount(int fd)
{
    int saved = errno;
    char at[32];
    (void)snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
    (void)umount2(at, MNT_DETACH);
    errno = saved;
}

static int mount_root(int root_cache, size_t place, const struct tc_root_spec *spec,
                      const char **ret_step)
{
    char at[8];
    (void)snprintf(at, sizeof(at), "%zu", place);
    _autofd_ int root = tc_tmpfs(ROOT_BYTES, 0, "0755", true);
    if (root < 0 || tc_move_mount(root, root_cache, at) < 0)
        return fail_at("tmpfs", ret_step);
    if (fill_root(root, spec, ret_step) < 0) {
        unmount(root);
        return -1;
    }
    return TAKE_FD(root);
}

/* The key of a root, without its mount points: specs with the same key can use the same root. */
static char *base_words(const struct tc_root_spec *spec)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addf(&buf, "%u:%u:%d:%d:%d", spec->uid, spec->gid,
                tc_tree_denied(spec->plan, "/etc/passwd"), tc_tree_denied(spec->plan, "/etc/group"),
                tc_plan_shares_memory(spec->plan));
    for (size_t i = 0; i < spec->plan->mount_count; i++) {
        const struct tc_mount *m = &spec->plan->mounts[i];
        if (shown(spec, m))
            tc_buf_addf(&buf, "\n%d %s\n%s\n%s", m->kind, m->path, m->from ? m->from : "",
                        m->content ? m->content : "");
    }
    tc_buf_addf(&buf, "\n%s", spec->plan->system ? spec->plan->system : "");
    for (size_t i = 0; i < spec->plan->deny_count; i++)
        if (tc_system_leads(spec->plan->system, spec->plan->denies[i].path) ||
            tc_system_shows(spec->plan->system, spec->plan->denies[i].path))
            tc_buf_addf(&buf, "\n-%s", spec->plan->denies[i].path);
    return tc_buf_steal(&buf);
}

static char *point_words(const struct tc_root_spec *spec)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < spec->point_count; i++)
        tc_buf_addf(&buf, "%d %s\n", spec->points[i].directory, spec->points[i].path);
    return tc_buf_steal(&buf);
}

static void drop_root(struct root *r)
{
    if (!r->base)
        return;
    unmount(r->fd);
    (void)close(r->fd);
    free(r->base);
    free(r->points);
    *r = (struct root){0};
}

static struct root *find_root(const char *base, const char *points)
{
    for (size_t i = 0; i < TC_ROOT_CACHE_SLOTS; i++)
        if (tc_streq(roots[i].base, base) &&
            (!roots[i].points || tc_streq(roots[i].points, points)))
            return &roots[i];
    return NULL;
}

/* Returns a free slot. If there is none, drops the least recently used root. */
static struct root *make_place(void)
{
    struct root *oldest = &roots[0];
    for (size_t i = 0; i < TC_ROOT_CACHE_SLOTS; i++)
        if (!roots[i].base || (oldest->base && roots[i].used < oldest->used))
            oldest = &roots[i];
    drop_root(oldest);
    return oldest;
}

static struct root *build(int root_cache, const struct tc_root_spec *spec, char *base,
                          const char **ret_step)
{
    struct root *r = make_place();
    _autofree_ char *owned = base;
    int fd = mount_root(root_cache, (size_t)(r - roots), spec, ret_step);
    if (fd < 0)
        return NULL;
    *r = (struct root){.base = TAKE(owned), .fd = fd, .serial = ++serials, .used = ++uses};
    return r;
}

/* Adds the mount points to a root that has none yet. A failure drops the root. */
static int put_points(struct root *r, const struct tc_root_spec *spec, char *points,
                      const char **ret_step)
{
    for (size_t i = 0; i < spec->point_count; i++) {
        if (put_point(r->fd, &spec->points[i]) < 0) {
            int saved = errno;
            drop_root(r);
            free(points);
            errno = saved;
            return fail_at(spec->points[i].path, ret_step);
        }
    }
    r->points = points;
    return 0;
}

uint64_t tc_root_ahead(int root_cache, const struct tc_root_spec *spec)
{
    const char *step;
    char *base = base_words(spec);
    struct root *r = base ? build(root_cache, spec, base, &step) : NULL;
    return r ? r->serial : 0;
}

/* Returns 0, with *ret_step. */
static uint64_t fail_root(const char *step, const char **ret_step)
{
    (void)fail_at(step, ret_step);
    return 0;
}

uint64_t tc_root_ready(int root_cache, const struct tc_root_spec *spec, const char **ret_step)
{
    _autofree_ char *base = base_words(spec);
    _autofree_ char *points = point_words(spec);
    if (!base || !points) {
        errno = ENOMEM;
        return fail_root("root", ret_step);
    }
    struct root *r = find_root(base, points);
    if (!r)
        r = build(root_cache, spec, TAKE(base), ret_step);
    if (!r || (!r->points && put_points(r, spec, TAKE(points), ret_step) < 0))
        return 0;
    r->used = ++uses;
    return r->serial;
}

int tc_root_copy(uint64_t serial)
{
    size_t i = 0;
    while (i < TC_ROOT_CACHE_SLOTS && roots[i].serial != serial)
        i++;
    if (!serial || i == TC_ROOT_CACHE_SLOTS) {
        errno = ESTALE;
        return -1;
    }
    _autofd_ int copy = tc_open_tree(
        roots[i].fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                              .propagation = MS_PRIVATE};
    if (copy < 0 || tc_mount_setattr(copy, 0, &attr) < 0)
        return -1;
    return TAKE_FD(copy);
}
