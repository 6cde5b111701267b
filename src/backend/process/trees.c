/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted paths of a cage: resolved to descriptors at each call, then made into detached
 * mounts. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/process/process.h"
#include "backend/process/workspace.h"
#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"

enum { MOUNTS_MAX = 16 << 20 }; /* of text */

/* `before` and `after` stand around the path. */
static int refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                  const char *before, const char *after)
{
    struct tc_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(cage,
                       &(struct tc_why){.code = TOOLCAGE_EPATH,
                                        .stage = "resolve",
                                        .subject = m->from,
                                        .errnum = errnum,
                                        .hint = hint},
                       m->kind == TC_MOUNT_WRITE ? TC_CLAUSE_FS_WRITE : TC_CLAUSE_FS_READ, "%s%s%s",
                       before, m->from, after);
    f->key = m->key ? strdup(m->key) : NULL;
    f->line = m->line;
    return -1;
}

static int refuse_errno(struct tc_cage *cage, const struct tc_mount *m, const char *where)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        return refuse(
            cage, m, 0,
            "create it, write it as { path = \"…\", optional = true }, or take it out of the "
            "policy",
            "granted path ", " does not exist");
    case ELOOP: {
        _autofree_ char *hint = tc_format(
            "\"%s\" is a symbolic link in a place that a tool can write or that somebody else "
            "owns; name the real path instead",
            where);
        return refuse(cage, m, 0, hint, "granted path ",
                      " leads through a link that is not followed");
    }
    default:
        return refuse(cage, m, errno, "check its permissions", "granted path ",
                      " cannot be opened");
    }
}

static int open_path(struct tc_process_cage *p, const struct tc_mount *m, char *where)
{
    if (!m->bound)
        return tc_resolve(&p->resolver, m->from, where);
    _autofd_ int bound = tc_resolve(&p->resolver, m->bound, where);
    if (bound < 0)
        return -1;
    const char *rest = m->from + strlen(m->bound);
    tc_strcopy(where, PATH_MAX, rest);
    return tc_resolve_beneath(bound, rest + (*rest == '/'));
}

bool tc_process_denied(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->deny_count; i++)
        if (tc_path_within(plan->denies[i].path, path))
            return true;
    return false;
}

/* Places that are the cage's own. The policy refuses them too; this is the second look. */
static bool reserved(const char *path)
{
    static const char *const own[] = {"/proc", "/dev", "/sys", "/mnt"};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (tc_path_within(own[i], path))
            return true;
    return strcmp(path, "/") == 0 || strcmp(path, "/tmp") == 0 || strcmp(path, "/etc") == 0;
}

static int resolve_one(struct tc_cage *cage, const struct tc_mount *m)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    char where[PATH_MAX] = "";
    struct stat st;
    if (reserved(m->path))
        return refuse(cage, m, 0, "grant it at another path: { path = \"/data\", from = \"…\" }",
                      "", " cannot be shown at a path that belongs to the cage");
    int fd = open_path(p, m, where);
    if (fd < 0 && m->optional && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return refuse_errno(cage, m, where);
    if (tc_process_keep(p, fd) < 0 || fstat(fd, &st) < 0)
        return refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    if (tc_process_kernel_fs(fd))
        return refuse(cage, m, 0, "grant a directory with files", "granted path ",
                      " leads to a file system that shows the host's kernel");
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return refuse(cage, m, 0,
                      "grant the directory that it is needed for, or copy the data into a file",
                      "granted path ", " is neither a directory nor a regular file");
    p->items[p->item_count++] = (struct tc_item){.mount = m,
                                                 .path = m->path,
                                                 .fd = fd,
                                                 .directory = S_ISDIR(st.st_mode),
                                                 .writable = m->kind == TC_MOUNT_WRITE,
                                                 .copy = -1,
                                                 .uid = st.st_uid,
                                                 .gid = st.st_gid};
    return 0;
}

static int by_depth(const void *a, const void *b)
{
    const struct tc_item *x = a, *y = b;
    size_t dx = tc_path_depth(x->path), dy = tc_path_depth(y->path);
    return dx != dy ? (dx > dy) - (dx < dy) : strcmp(x->path, y->path);
}

int tc_process_resolve(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    p->items = tc_arena_alloc(&p->arena, (plan->mount_count + 1) * sizeof(*p->items));
    if (!p->items)
        return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_EMEMORY, .stage = "resolve"},
                            -1, "out of memory");
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if ((m->kind != TC_MOUNT_READ && m->kind != TC_MOUNT_WRITE) ||
            tc_process_denied(plan, m->path))
            continue;
        if (resolve_one(cage, m) < 0)
            return -1;
    }
    qsort(p->items, p->item_count, sizeof(*p->items), by_depth);
    return 0;
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
    struct tc_tree how = {.writable = item->writable, .userns = -1};
    const char *step = "";
    if (p->host->privileged) {
        how.userns = tc_process_idmap(p->host, item->uid, item->gid, p->id);
        if (how.userns < 0)
            return no_idmap(cage, item);
    }
    int tree = tc_tree_open(fd, &how, &step);
    if (tree < 0 && strcmp(step, "idmap") == 0) {
        if (item->writable)
            return no_idmap(cage, item);
        how.userns = -1;
        tree = tc_tree_open(fd, &how, &step);
    }
    if (tree < 0)
        return refuse(cage, item->mount, errno, "`toolcage doctor` shows what this machine lacks",
                      "granted path ", " cannot be mounted");
    return tc_process_keep(p, tree);
}

static enum tc_landlock_kind rights(const struct tc_item *item)
{
    if (item->directory)
        return item->writable ? TC_LANDLOCK_WRITE_TREE : TC_LANDLOCK_READ_TREE;
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
    struct tc_box_mount *m = tree < 0 ? NULL : tc_process_mount(p, tree, path, rights(&self));
    if (!m)
        return -1;
    m->no_rule = true;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return 0;
}

bool tc_process_copied(const struct tc_plan *plan, const struct tc_item *item)
{
    return item->writable && item->directory && item->mount->workspace &&
           plan->workspace == TC_WORKSPACE_COPY;
}

int tc_process_trees(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autobuf_ struct tc_buf mounts = TC_BUF_INIT;
    mounts.max = MOUNTS_MAX;
    if (p->item_count && tc_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts) < 0)
        return refuse(cage, p->items[0].mount, errno, "mount /proc", "mounts below granted path ",
                      " cannot be listed");
    for (size_t i = 0; i < p->item_count; i++) {
        struct tc_item *item = &p->items[i];
        bool copied = tc_process_copied(cage->plan, item);
        if (item->writable && !copied && cage->plan->workspace == TC_WORKSPACE_COPY)
            return refuse(cage, item->mount, 0, "grant the directory that holds it",
                          "a copied workspace is made of directories, and ", " is a file");
        int tree = copied ? tc_workspace_copy(cage, item) : open_tree(cage, item, item->fd);
        if (tree < 0)
            return -1;
        struct tc_box_mount *m = tc_process_mount(p, tree, item->path, rights(item));
        if (!m)
            return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_EMEMORY, .stage = "trees"},
                                -1, "out of memory");
        m->dev = item->point.dev;
        m->ino = item->point.ino;
        if (item->directory && !copied && tc_process_cover_kernel(cage, item, mounts.data) < 0)
            return refuse(cage, item->mount, errno, "unmount them", "kernel file systems below ",
                          " cannot be covered");
        if (item->writable && item->directory && !copied && tc_process_steering(cage, item) < 0)
            return -1;
    }
    return 0;
}
