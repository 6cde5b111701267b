/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes detached mounts of granted paths with their Landlock rights, and attaches them. */
#include "tree/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "linux/userns.h"
#include "tree/tree.h"

static int no_idmap(struct tc_cage *cage, const struct tc_item *item)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "idmap", item->mount->from, errno,
                     "use workspace = { mode = \"copy\" }, run as an ordinary user, or put it on "
                     "ext4, xfs, btrfs or tmpfs"),
        TC_CLAUSE_IDS_UNPRIVILEGED,
        "root's cages need id-mapped mounts, which the file system of %s does not support",
        item->mount->from);
    f->key = item->mount->key ? strdup(item->mount->key) : NULL;
    f->line = item->mount->line;
    cage->unbound = "the file system of the directory has no id-mapped mounts, so it is a copy";
    return -1;
}

/* Do the item's files belong to the cage's id already? */
static bool is_its_own(const struct tc_trees *t, const struct tc_item *item)
{
    return item->uid == t->id && item->gid == (gid_t)t->id;
}

/* Makes the detached mount of an item. For a root caller the mount is id-mapped: the files' owner
 * appears as the cage's id. If the file system does not support that, a read-only item is mounted
 * without a map: the cage's id then has fewer rights, never more. */
int tc_tree_show(struct tc_cage *cage, const struct tc_item *item, int fd)
{
    struct tc_trees *t = cage->trees;
    struct tc_tree how = {.writable = item->writable && item->layers < 0, .userns = -1};
    const char *step = "";
    _autofd_ int map = -1;
    if (t->host->privileged && !is_its_own(t, item)) {
        how.userns = map = tc_tree_idmap(t->host, item->uid, item->gid, t->id);
        if (map < 0)
            return tc_tree_refuse(
                cage, item->mount, errno,
                errno == EPERM && tc_userns_chrooted()
                    ? TC_USERNS_CHROOT_FIX
                    : "`toolcage doctor` shows what this machine lacks; ENOSPC means that "
                      "user.max_user_namespaces is too low",
                "no id map can be created for ", "");
    }
    int tree = tc_tree_open(fd, &how, &step);
    if (tree < 0 && strcmp(step, "idmap") == 0) {
        if (item->writable)
            return no_idmap(cage, item);
        how.userns = -1;
        tree = tc_tree_open(fd, &how, &step);
    }
    if (tree < 0)
        return tc_tree_refuse(cage, item->mount, errno,
                              "`toolcage doctor` shows what this machine lacks", "granted path ",
                              " cannot be mounted");
    return tc_tree_keep(t, tree);
}

enum tc_landlock_kind tc_tree_rights(const struct tc_plan *plan, const struct tc_item *item)
{
    if (plan->unix_sockets && item->directory && (item->copy >= 0 || item->layers >= 0))
        return TC_LANDLOCK_OWN_TREE;
    if (item->directory)
        return item->writable || item->single_dir ? TC_LANDLOCK_WRITE_TREE : TC_LANDLOCK_READ_TREE;
    return item->writable ? TC_LANDLOCK_WRITE_FILE : TC_LANDLOCK_READ_FILE;
}

/* Adds a bind mount of an object below a writable item on the object itself, read-only or writable:
 * the tool can then neither rename nor replace it. */
int tc_tree_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                   bool writable)
{
    struct tc_trees *t = cage->trees;
    struct tc_item self = *item;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    self.writable = writable;
    self.directory = S_ISDIR(st.st_mode);
    int tree = tc_tree_show(cage, &self, fd);
    /* No Landlock rule: Landlock gives an object the rights of all rules above it, so a rule here
     * could only add rights. */
    struct tc_init_mount *m =
        tree < 0 ? NULL : tc_tree_mount(t, tree, path, tc_tree_rights(cage->plan, &self));
    if (!m)
        return -1;
    m->no_rule = true;
    m->frozen = !writable;
    m->itself = true;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return 0;
}

/* Mounts the object that replaced the resolved one over itself. The clone has the id map and the
 * restrictions of the tree around it. */
static int attach_clone(int target, bool read_only)
{
    const unsigned whole = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    const struct mount_attr attr = {.attr_set = read_only ? MOUNT_ATTR_RDONLY : 0};
    _autofd_ int tree = tc_open_tree(target, "", whole);
    if (tree < 0 || tc_mount_setattr(tree, AT_RECURSIVE, &attr) < 0)
        return -1;
    return tc_move_mount(tree, target, "");
}

static int attach_once(int root, const struct tc_init_mount *m)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    _autofd_ int target = tc_openat2(root, m->path, &how);
    if (target < 0 || fstat(target, &st) < 0)
        return -1;
    if (st.st_dev == m->dev && st.st_ino == m->ino)
        return tc_move_mount(m->fd, target, "");
    errno = ESTALE;
    return m->itself ? attach_clone(target, m->frozen) : -1;
}

/* A save by renaming leaves a name free for a moment, and nothing can be mounted on the old file:
 * both are ENOENT. */
int tc_init_mount_attach(int root, const struct tc_init_mount *m)
{
    enum { TRIES = 32 };
    int rc = -1;
    if (m->dev == 0)
        return tc_move_mount(m->fd, root, m->path);
    errno = ENOENT;
    for (int i = 0; i < TRIES && rc < 0 && errno == ENOENT; i++)
        rc = attach_once(root, m);
    return rc;
}
