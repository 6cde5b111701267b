/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Private storage of a cage: its /tmp, and directories in that which are the tool's own. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "backend/local/local.h"
#include "linux/mounts.h"

/* /tmp is a mount like the others, so that a granted path below it gets its mount point there. */
int tc_process_storage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    p->storage = tc_process_keep(p, tc_tmpfs(l->disk, l->inodes, "1777", true));
    if (p->storage < 0)
        return tc_cage_fail(cage,
                            &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                             .stage = "storage",
                                             .subject = "/tmp",
                                             .errnum = errno,
                                             .hint = "check the size of `disk` in the policy"},
                            TC_CLAUSE_TMP_PRIVATE, "cannot make the private /tmp");
    enum tc_landlock_kind rights =
        cage->plan->unix_sockets ? TC_LANDLOCK_OWN_TREE : TC_LANDLOCK_WRITE_TREE;
    return tc_process_mount(p, p->storage, "/tmp", rights) ? 0
                                                           : tc_cage_fail_memory(cage, "prepare");
}

int tc_process_own(const struct tc_process_cage *p, int dirfd, const char *name)
{
    return p->id == (uid_t)-1
               ? 0
               : fchownat(dirfd, name, p->id, (gid_t)p->id, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

int tc_process_own_directory(struct tc_process_cage *p, int storage, const char *at)
{
    int fd = tc_mkdirs(storage, at) < 0
                 ? -1
                 : openat(storage, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tc_process_keep(p, fd) < 0 || tc_process_own(p, fd, "") < 0 ? -1 : fd;
}
