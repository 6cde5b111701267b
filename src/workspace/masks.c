/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Do the masks of denied objects still stand, now that the call has ended? */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "workspace/workspace.h"

static bool is_object(const struct stat *st, const struct tc_masked *m)
{
    return st->st_dev == m->id.dev && st->st_ino == m->id.ino;
}

/* A rename takes the mask from the old file before the name leads to the new one, and holds its
 * directory's lock until both are done: whoever reads the directory waits for that. */
static void outlast_renames(int dirfd)
{
    _autofd_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char entries[1024];
    if (fd >= 0)
        (void)syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

/* The mask hangs on the name in its directory, which may have been moved; then it went along, and
 * nothing else may stand at the denied path. */
static bool stands(const struct tc_masked *m)
{
    struct stat st;
    if (m->parent < 0) { /* the mask would have been over nothing */
        _autofd_ int made = tc_resolve_object(m->tree, m->name);
        return made < 0;
    }
    outlast_renames(m->parent);
    if (fstatat(m->parent, tc_path_base(m->name), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_object(&st, m))
        return false;
    _autofd_ int fd = tc_resolve_beneath(m->tree, m->name);
    if (fd < 0)
        return tc_resolve_gone(errno);
    return fstat(fd, &st) == 0 && is_object(&st, m);
}

void tc_workspace_check_masks(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->masked_count; i++) {
        const struct tc_masked *m = &t->masked[i];
        if (stands(m) || cage->outcome->failure.code)
            continue;
        (void)tc_cage_fail(cage,
                           TC_WHY(TOOLCAGE_EUNENFORCEABLE, "collect", m->deny->path,
                                  "do not edit denied files while a tool runs, or move them out of "
                                  "the granted directory"),
                           TC_CLAUSE_FS_DENIED,
                           m->parent < 0 ? "%s was made on the host during the call, where no mask "
                                           "could stand before"
                                         : "%s was replaced on the host during the call, which "
                                           "took its mask away",
                           m->deny->path);
    }
}
