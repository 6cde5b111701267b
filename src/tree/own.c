/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the trees of a cage own until the cage is released: fds, the mounts that its first process
 * attaches, and private storage, which holds /tmp and other directories of the tool. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "linux/mounts.h"
#include "tree/tree.h"

void tc_trees_open(struct tc_trees *t, const struct tc_plan *plan)
{
    tc_trees_know_holders();
    tc_provenance_init(&t->provenance, t->host->uid, &plan->records, &plan->tool_writable, NULL);
}

int tc_tree_keep(struct tc_trees *t, int fd)
{
    int *slot = fd < 0 ? NULL : TC_PUSH(t->fds, t->fd_count);
    if (!slot) {
        int saved = fd < 0 ? errno : ENOMEM;
        if (fd >= 0)
            (void)close(fd);
        errno = saved;
        return -1;
    }
    return *slot = fd;
}

struct tc_init_mount *tc_tree_mount(struct tc_trees *t, int fd, const char *path,
                                    enum tc_landlock_kind rights)
{
    struct tc_init_mount *m = TC_PUSH(t->mounts, t->mount_count);
    if (m)
        *m = (struct tc_init_mount){
            .fd = fd, .path = path[1] ? path + 1 : ".", .rights = rights, .layers = -1};
    return m;
}

struct tc_init_mount *tc_tree_mask(struct tc_trees *t, bool directory, const char *path)
{
    int over = directory ? t->host->mask_dir : t->host->mask_file;
    int tree = tc_tree_keep(t, tc_tree_open(over, &(struct tc_tree){.userns = -1}, NULL));
    struct tc_init_mount *m = tree < 0 ? NULL : tc_tree_mount(t, tree, path, TC_LANDLOCK_READ_TREE);
    if (m)
        m->no_rule = true;
    return m;
}

/* The maximum size of the mount table in bytes: reading a larger one would take a call too long. */
enum { MOUNTS_MAX = 16 << 20 };

const char *tc_trees_mounts(struct tc_trees *t)
{
    t->mountinfo.max = MOUNTS_MAX;
    if (!t->mountinfo.data && tc_read_file(AT_FDCWD, "/proc/self/mountinfo", &t->mountinfo) < 0)
        return NULL;
    return t->mountinfo.data;
}

void tc_trees_release(struct tc_trees *t)
{
    while (t->fd_count)
        (void)close(t->fds[--t->fd_count]);
}

void tc_trees_done(struct tc_trees *t)
{
    tc_trees_release(t);
    tc_provenance_done(&t->provenance);
    free(t->mounts);
    free(t->masked);
    free(t->fds);
    tc_buf_done(&t->mountinfo);
    tc_arena_done(&t->arena);
}

int tc_tree_tmp(const struct tc_limits *limits)
{
    return tc_tmpfs(limits->disk, limits->inodes, "1777", true);
}

/* Creates the private storage and adds it as a mount at /tmp, before the mounts of granted paths:
 * their mount points may be in /tmp. */
int tc_tree_storage(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    if (t->storage < 0)
        t->storage = tc_tree_keep(t, tc_tree_tmp(&cage->plan->limits));
    if (t->storage < 0)
        return tc_cage_fail(cage,
                            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "storage", "/tmp", errno,
                                         "check the size of `disk` in the policy"),
                            TC_CLAUSE_TMP_PRIVATE, "cannot make the private /tmp");
    enum tc_landlock_kind rights =
        cage->plan->unix_sockets ? TC_LANDLOCK_OWN_TREE : TC_LANDLOCK_WRITE_TREE;
    struct tc_init_mount *m = tc_tree_mount(t, t->storage, "/tmp", rights);
    if (m && tc_plan_shares_memory(cage->plan)) {
        m = tc_tree_mount(t, -1, "/dev/shm", rights);
        if (m)
            m->tmp = m->no_rule = true;
    }
    return m ? 0 : tc_cage_fail_memory(cage, "prepare");
}

int tc_tree_own(const struct tc_trees *t, int dirfd, const char *name)
{
    return t->id == (uid_t)-1
               ? 0
               : fchownat(dirfd, name, t->id, (gid_t)t->id, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

int tc_tree_own_directory(struct tc_trees *t, int storage, const char *at)
{
    int fd = tc_mkdirs(storage, at) < 0
                 ? -1
                 : openat(storage, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tc_tree_keep(t, fd) < 0 || tc_tree_own(t, fd, "") < 0 ? -1 : fd;
}

int tc_tree_layer(struct tc_trees *t, int storage)
{
    int upper = tc_tree_own_directory(t, storage, "u");
    return upper < 0 || tc_tree_own_directory(t, storage, "w") < 0 ? -1 : upper;
}
