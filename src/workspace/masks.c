/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Are the masks of denied objects still in place after the call? */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "workspace/workspace.h"

static bool is_object(const struct stat *st, const struct tc_masked *m)
{
    return st->st_dev == m->id.dev && st->st_ino == m->id.ino;
}

/* A rename removes the mask from the old file before the name refers to the new one, and holds the
 * lock of the directory until both are done. Reading the directory waits for that lock. */
static void outlast_renames(int dirfd)
{
    _autofd_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char entries[1024];
    if (fd >= 0)
        (void)syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

/* The mask belongs to the name in its directory. If the directory was moved, the mask moved along,
 * and no other object may be at the denied path. */
static bool stands(const struct tc_masked *m)
{
    struct stat st;
    if (m->parent < 0) { /* there was no object to mask; the tool could make a link on the path */
        _autofd_ int made = tc_resolve_object(m->tree, m->name);
        return made < 0 && (!m->writable || errno == ENOENT || errno == ENOTDIR);
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

/* The policy's key and line are added to the denial later. */
static void fail_created(struct tc_cage *cage, const struct tc_masked *m)
{
    struct tc_outcome *o = cage->outcome;
    struct tc_denial *d = TC_PUSH(o->denials, o->denial_count);
    if (d)
        *d = (struct tc_denial){
            .kind = TC_DENIAL_WRITE, .target = strdup(m->deny->path), .count = 1};
    (void)tc_cage_fail(cage,
                       TC_WHY(TOOLCAGE_EUNENFORCEABLE, "collect", m->deny->path,
                              "look at it, and remove it if the tool made it; an overlay keeps "
                              "denied names off the host: workspace = { mode = \"overlay\" }"),
                       TC_CLAUSE_FS_DENIED,
                       "%s is denied and was created during the call: a name that does not exist "
                       "yet cannot be masked in a directory that is written directly",
                       m->deny->path);
    o->failure.key = m->deny->key ? strdup(m->deny->key) : NULL;
    o->failure.line = m->deny->line;
}

void tc_workspace_check_masks(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->masked_count; i++) {
        const struct tc_masked *m = &t->masked[i];
        if (stands(m) || cage->outcome->failure.code)
            continue;
        if (m->writable)
            fail_created(cage, m);
        else
            (void)tc_cage_fail(
                cage,
                TC_WHY(TOOLCAGE_EUNENFORCEABLE, "collect", m->deny->path,
                       "do not edit denied files while a tool runs, or move them out of "
                       "the granted directory"),
                TC_CLAUSE_FS_DENIED,
                m->parent < 0 ? "%s was created on the host during the call, and could "
                                "not be masked before"
                              : "%s was replaced on the host during the call, which "
                                "removed its mask",
                m->deny->path);
    }
}
