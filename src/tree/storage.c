/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Private storage of a cage: its /tmp, and directories in that which are the tool's own. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "linux/mounts.h"
#include "tree/tree.h"

int tc_process_tmp(const struct tc_limits *limits)
{
    return tc_tmpfs(limits->disk, limits->inodes, "1777", true);
}

/* /tmp is a mount like the others, so that a granted path below it gets its mount point there. */
int tc_process_storage(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    if (t->storage < 0)
        t->storage = tc_process_keep(t, tc_process_tmp(&cage->plan->limits));
    if (t->storage < 0)
        return tc_cage_fail(cage,
                            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "storage", "/tmp", errno,
                                         "check the size of `disk` in the policy"),
                            TC_CLAUSE_TMP_PRIVATE, "cannot make the private /tmp");
    enum tc_landlock_kind rights =
        cage->plan->unix_sockets ? TC_LANDLOCK_OWN_TREE : TC_LANDLOCK_WRITE_TREE;
    return tc_process_mount(t, t->storage, "/tmp", rights) ? 0
                                                           : tc_cage_fail_memory(cage, "prepare");
}

int tc_process_own(const struct tc_trees *t, int dirfd, const char *name)
{
    return t->id == (uid_t)-1
               ? 0
               : fchownat(dirfd, name, t->id, (gid_t)t->id, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

int tc_process_own_directory(struct tc_trees *t, int storage, const char *at)
{
    int fd = tc_mkdirs(storage, at) < 0
                 ? -1
                 : openat(storage, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tc_process_keep(t, fd) < 0 || tc_process_own(t, fd, "") < 0 ? -1 : fd;
}
