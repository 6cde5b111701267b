/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted paths of a cage: resolved to descriptors at each call, then made into detached
 * mounts. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local/local.h"
#include "backend/local/overlay.h"
#include "backend/local/steering.h"
#include "backend/local/workspace.h"
#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"

enum { MOUNTS_MAX = 16 << 20 }; /* of text */

static int refuse_errno(struct tc_cage *cage, const struct tc_mount *m, const char *where)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        return tc_process_refuse(
            cage, m, 0,
            "create it, write it as { path = \"…\", optional = true }, or take it out of the "
            "policy",
            "granted path ", " does not exist");
    case ELOOP: {
        _autofree_ char *hint = tc_format(
            "\"%s\" is a symbolic link in a place that a tool can write or that somebody else "
            "owns; name the real path instead",
            where);
        return tc_process_refuse(cage, m, 0, hint, "granted path ",
                                 " leads through a link that is not followed");
    }
    default:
        return tc_process_refuse(cage, m, errno, "check its permissions", "granted path ",
                                 " cannot be opened");
    }
}

/* A granted path on the host. */
struct found {
    int fd;              /* -1: not there yet */
    int dir;             /* the directory that holds it; -1: not needed */
    char name[PATH_MAX]; /* in that directory; or what stopped the search */
};

/* A value that a model chose, beneath its bound and never through a link. What is to be written
 * need not be there yet, but its directory must. */
static int find_beneath(struct tc_process_cage *p, const struct tc_mount *m, struct found *ret)
{
    const char *rest = m->from + strlen(m->bound);
    rest += *rest == '/';
    if (!*rest)
        return ret->fd = tc_resolve_in(&p->resolver, m->bound, ret->name, &ret->dir);
    _autofd_ int bound = tc_resolve(&p->resolver, m->bound, ret->name);
    if (bound < 0)
        return -1;
    _autofree_ char *parent = tc_path_parent(rest);
    tc_strcopy(ret->name, sizeof(ret->name), rest);
    ret->dir = parent ? tc_resolve_beneath(bound, parent[0] == '/' ? "." : parent) : -1;
    if (ret->dir < 0)
        return -1;
    tc_strcopy(ret->name, sizeof(ret->name), tc_path_base(rest));
    ret->fd = tc_resolve_beneath(ret->dir, ret->name);
    return ret->fd < 0 && errno == ENOENT && m->kind == TC_MOUNT_WRITE ? 0 : ret->fd;
}

static int find_path(struct tc_process_cage *p, const struct tc_mount *m, struct found *ret)
{
    *ret = (struct found){.fd = -1, .dir = -1};
    int rc = m->bound ? find_beneath(p, m, ret)
                      : (ret->fd = tc_resolve_in(&p->resolver, m->from, ret->name, &ret->dir));
    if (rc >= 0)
        return 0;
    int saved = errno;
    if (ret->dir >= 0)
        (void)close(TAKE_FD(ret->dir));
    errno = saved;
    return -1;
}

/* A model may not choose what a program of the user obeys unasked; the operator's bound may. */
static bool steers(const struct tc_plan *plan, const struct tc_mount *m, const struct found *f)
{
    if (m->kind != TC_MOUNT_WRITE || !m->bound)
        return false;
    const struct tc_item beneath = {.steering = &plan->steering, .context = m->bound};
    const char *rest = m->from + strlen(m->bound);
    return !tc_steers_named(m->bound) && tc_steers_place(&beneath, f->dir, rest + (*rest == '/'));
}

/* A file that may be written, or one to be: it stands in its directory by name. */
static int add_file(struct tc_process_cage *p, struct tc_item *item, const struct found *f)
{
    struct stat st;
    item->name = tc_path_base(item->path);
    item->host_name = tc_arena_format(&p->arena, "%s", f->name);
    item->fd = f->dir;
    if (!item->host_name || fstat(f->dir, &st) < 0)
        return -1;
    if (!item->id.dev) {
        item->uid = st.st_uid;
        item->gid = st.st_gid;
    }
    return 0;
}

/* Where the directory is, whatever links led to it. */
static int note_context(struct tc_process_cage *p, struct tc_item *item)
{
    char place[PATH_MAX];
    if (tc_resolve_name(item->fd, place) < 0)
        return -1;
    item->context = tc_arena_format(&p->arena, "%s", place);
    return item->context ? tc_item_learn_around(p, item) : -1;
}

static int add_item(struct tc_cage *cage, const struct tc_mount *m, const struct found *f)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct stat st = {.st_mode = S_IFREG};
    if (f->fd >= 0 && fstat(f->fd, &st) < 0)
        return tc_process_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    p->remote = p->remote || tc_process_remote_fs(f->fd >= 0 ? f->fd : f->dir);
    int kernel = f->fd < 0 ? 0 : tc_process_kernel_fs(f->fd);
    if (kernel < 0)
        return tc_process_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    if (kernel > 0)
        return tc_process_refuse(cage, m, 0, "grant a directory with files", "granted path ",
                                 " leads to a file system that shows the host's kernel");
    bool socket = m->kind == TC_MOUNT_SOCKET;
    if (socket && !S_ISSOCK(st.st_mode))
        return tc_process_refuse(cage, m, 0, "name the socket itself, and start its server before",
                                 "granted unix socket ", " is no socket");
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !socket)
        return tc_process_refuse(
            cage, m, 0, "grant the directory that it is needed for, or copy the data into a file",
            "granted path ", " is neither a directory nor a regular file");
    struct tc_item *item = &p->items[p->item_count];
    *item = (struct tc_item){.mount = m,
                             .path = m->path,
                             .fd = f->fd,
                             .directory = S_ISDIR(st.st_mode),
                             .writable = m->kind == TC_MOUNT_WRITE,
                             .copy = -1,
                             .layers = -1,
                             .uid = st.st_uid,
                             .gid = st.st_gid,
                             .steering = &cage->plan->steering,
                             .id = {st.st_dev, st.st_ino}};
    if (item->writable && !item->directory && add_file(p, item, f) < 0)
        return tc_process_refuse(cage, m, errno, NULL, "the directory of ", " cannot be examined");
    if (item->writable && item->directory && note_context(p, item) < 0)
        return tc_process_refuse(cage, m, errno, NULL, "the place of ", " cannot be examined");
    p->item_count++;
    return 0;
}

/* Both are the cage's from here on, also when one of them has no room there and is closed. */
static int keep_found(struct tc_process_cage *p, const struct found *f)
{
    int fd = f->fd < 0 ? 0 : tc_process_keep(p, f->fd);
    int dir = f->dir < 0 ? 0 : tc_process_keep(p, f->dir);
    return fd < 0 || dir < 0 ? -1 : 0;
}

static int resolve_one(struct tc_cage *cage, const struct tc_mount *m)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct found f;
    if (tc_process_reserved(m->path))
        return tc_process_refuse(cage, m, 0,
                                 "grant it at another path: { path = \"/data\", from = \"…\" }", "",
                                 " cannot be shown at a path that belongs to the cage");
    if (find_path(p, m, &f) < 0)
        return m->optional && (errno == ENOENT || errno == ENOTDIR) ? 0
                                                                    : refuse_errno(cage, m, f.name);
    if (keep_found(p, &f) < 0)
        return tc_process_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    if (steers(cage->plan, m, &f))
        return tc_process_refuse(
            cage, m, 0,
            "name another path; only the policy's own word, filesystem.steering, grants such files",
            "", " steers the host: a program there obeys it without being asked");
    return add_item(cage, m, &f);
}

int tc_process_resolve(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    /* a file that may be written can need a directory of its own */
    p->items = tc_arena_alloc(&p->arena, (2 * plan->mount_count + 1) * sizeof(*p->items));
    if (!p->items)
        return tc_cage_fail_memory(cage, "resolve");
    for (size_t i = 0; i < plan->mount_count && !cage->unwanted; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if ((m->kind != TC_MOUNT_READ && m->kind != TC_MOUNT_WRITE && m->kind != TC_MOUNT_SOCKET) ||
            tc_process_denied(plan, m->path))
            continue;
        if (resolve_one(cage, m) < 0)
            return -1;
    }
    tc_process_sort(p);
    return tc_process_guard(cage);
}

static int no_idmap(struct tc_cage *cage, const struct tc_item *item)
{
    struct tc_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(
        cage,
        &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                         .stage = "idmap",
                         .subject = item->mount->from,
                         .errnum = errno,
                         .hint = "use workspace = { mode = \"copy\" }, run as an ordinary "
                                 "user, or put it on ext4, xfs, btrfs or tmpfs"},
        TC_CLAUSE_IDS_UNPRIVILEGED,
        "root's cages write through id-mapped mounts, and the file system of %s has none",
        item->mount->from);
    f->key = item->mount->key ? strdup(item->mount->key) : NULL;
    f->line = item->mount->line;
    return -1;
}

/* The detached mount of one item. A root caller's paths are id-mapped: their owner becomes the
 * cage's id. A read-only tree on a file system without id maps is shown as it is: the cage's id is
 * a stranger there, which is less, not more. */
static int open_tree(struct tc_cage *cage, const struct tc_item *item, int fd)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_tree how = {.writable = item->writable && item->layers < 0, .userns = -1};
    const char *step = "";
    _autofd_ int map = -1;
    if (p->host->privileged) {
        how.userns = map = tc_process_idmap(p->host, item->uid, item->gid, p->id);
        if (map < 0)
            return tc_process_refuse(
                cage, item->mount, errno,
                "`toolcage doctor` shows what this machine lacks; ENOSPC means that "
                "user.max_user_namespaces is too low",
                "no id map can be made for ", "");
    }
    int tree = tc_tree_open(fd, &how, &step);
    if (tree < 0 && strcmp(step, "idmap") == 0) {
        if (item->writable)
            return no_idmap(cage, item);
        how.userns = -1;
        tree = tc_tree_open(fd, &how, &step);
    }
    if (tree < 0)
        return tc_process_refuse(cage, item->mount, errno,
                                 "`toolcage doctor` shows what this machine lacks", "granted path ",
                                 " cannot be mounted");
    return tc_process_keep(p, tree);
}

static enum tc_landlock_kind rights(const struct tc_plan *plan, const struct tc_item *item)
{
    if (plan->unix_sockets && item->directory && (item->copy >= 0 || item->layers >= 0))
        return TC_LANDLOCK_OWN_TREE;
    if (item->directory)
        return item->writable || item->drawer ? TC_LANDLOCK_WRITE_TREE : TC_LANDLOCK_READ_TREE;
    return item->writable ? TC_LANDLOCK_WRITE_FILE : TC_LANDLOCK_READ_FILE;
}

/* Shows one object below a writable item once more, read-only or as it is, on top of itself. */
int tc_process_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                      bool writable)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_item self = *item;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    self.writable = writable;
    self.directory = S_ISDIR(st.st_mode);
    int tree = open_tree(cage, &self, fd);
    /* no rule of its own: Landlock adds rights up, and this one must not lose the tree's */
    struct tc_box_mount *m =
        tree < 0 ? NULL : tc_process_mount(p, tree, path, rights(cage->plan, &self));
    if (!m)
        return -1;
    m->no_rule = true;
    m->frozen = !writable;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return 0;
}

/* An overlay; or a copy, where none can be had and the call leaves the choice. */
static int open_layers(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    if (tc_overlay_open(cage, item, mounts) == 0)
        return open_tree(cage, item, item->fd);
    if (!cage->plan->overlay_or_copy || cage->plan->session || cage->unwanted)
        return -1;
    tc_failure_clear(&cage->outcome->failure);
    cage->outcome->status = 0;
    item->layers = item->copy = -1;
    return tc_workspace_copy(cage, item);
}

/* What stands at the item's path: a copy, private storage, or the host's own. */
static int open_item(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    if (tc_overlay_wanted(cage->plan, item))
        return open_layers(cage, item, mounts);
    if (tc_process_copied(cage->plan, item))
        return tc_workspace_copy(cage, item);
    if (item->drawer && item->layers < 0)
        return item->copy;
    return open_tree(cage, item, item->fd);
}

static int add_tree(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int tree = open_item(cage, item, mounts);
    if (tree < 0)
        return -1;
    struct tc_box_mount *m = tc_process_mount(p, tree, item->path, rights(cage->plan, item));
    if (!m)
        return tc_cage_fail_memory(cage, "trees");
    m->dev = item->point.dev;
    m->ino = item->point.ino;
    m->layered = item->layers >= 0;
    m->layers = item->layers;
    if (!item->directory || (item->copy >= 0 && !(item->drawer && m->layered)))
        return 0;
    if (tc_process_cover_kernel(cage, item, mounts) < 0)
        return tc_process_refuse(cage, item->mount, errno, "unmount them",
                                 "kernel file systems below ", " cannot be covered");
    return item->writable ? tc_process_steering(cage, item) : 0;
}

/* Mounts below a granted path need a directory to be below of. */
static bool any_directory(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->item_count; i++)
        if (p->items[i].directory)
            return true;
    return false;
}

int tc_process_trees(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autobuf_ struct tc_buf mounts = TC_BUF_INIT;
    mounts.max = MOUNTS_MAX;
    if (any_directory(p) && tc_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts) < 0)
        return tc_process_refuse(cage, p->items[0].mount, errno, "mount /proc",
                                 "mounts below granted path ", " cannot be listed");
    for (size_t i = 0; i < p->item_count; i++)
        if (!p->items[i].name && add_tree(cage, &p->items[i], mounts.data) < 0)
            return -1;
    return 0;
}
