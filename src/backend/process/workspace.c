/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/process/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "backend/process/steering.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "linux/walk.h"

enum { ENTRIES_MAX = 1000000 };

static int fail(struct tc_cage *cage, const struct tc_item *item, int errnum, const char *what)
{
    const char *hint = "check the permissions below it";
    if (errnum == ENOSPC)
        hint = "the copy must fit into `disk`: raise it, or use workspace = { mode = \"bind\" }";
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EPATH,
                                         .stage = "workspace",
                                         .subject = item->mount->from,
                                         .errnum = errnum,
                                         .hint = hint},
                        TC_CLAUSE_FS_WRITE, "%s %s", what, item->mount->from);
}

/* ---- in
 * ------------------------------------------------------------------------------------------- */

struct copying {
    struct tc_cage *cage;
    const struct tc_item *item;
    int to; /* root of the copy */
    uid_t uid;
    gid_t gid;
};

static bool denied(const struct copying *c, const char *relative)
{
    const struct tc_plan *plan = c->cage->plan;
    _autofree_ char *path = tc_path_join(c->item->path, relative);
    for (size_t i = 0; i < plan->deny_count; i++)
        if (!path || tc_path_within(plan->denies[i].path, path))
            return true;
    return false;
}

static int copy_bytes(int from, int to)
{
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EXDEV && errno != EINVAL && errno != ENOSYS)
            return -1;
        if (n < 0)
            break;
    }
    char block[65536];
    ssize_t n;
    while ((n = read(from, block, sizeof(block))) > 0)
        if (tc_write_all(to, block, (size_t)n) < 0)
            return -1;
    return n < 0 ? -1 : 0;
}

static int copy_file(int from_dir, const char *from_name, int to_dir, const char *to_name,
                     mode_t mode)
{
    _autofd_ int from = openat(from_dir, from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _autofd_ int to = from < 0 ? -1
                               : openat(to_dir, to_name,
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0 || copy_bytes(from, to) < 0)
        return -1;
    return fchmod(to, mode & 0777);
}

static int copy_link(int from_dir, const char *from_name, int to_dir, const char *to_name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_dir, from_name, target, sizeof(target) - 1);
    if (n < 0)
        return -1;
    target[n] = '\0';
    return symlinkat(target, to_dir, to_name);
}

static int copy_in(void *userdata, const struct tc_walk_entry *e)
{
    struct copying *c = userdata;
    if (denied(c, e->relative))
        return 1;
    int rc = 0;
    if (S_ISDIR(e->st->stx_mode)) /* writable, whatever it is on the host: it must be filled */
        rc = mkdirat(c->to, e->relative, (e->st->stx_mode & 0777) | 0700);
    else if (S_ISREG(e->st->stx_mode))
        rc = copy_file(e->dirfd, e->name, c->to, e->relative, e->st->stx_mode);
    else if (S_ISLNK(e->st->stx_mode))
        rc = copy_link(e->dirfd, e->name, c->to, e->relative);
    else
        return 0;
    if (rc == 0 && c->uid != (uid_t)-1)
        rc = fchownat(c->to, e->relative, c->uid, c->gid, AT_SYMLINK_NOFOLLOW);
    return rc;
}

int tc_workspace_copy(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    int copy = tc_process_keep(p, tc_tmpfs(l->disk, l->inodes, "0700", true));
    struct copying c = {.cage = cage, .item = item, .to = copy, .uid = p->id, .gid = (gid_t)p->id};
    struct tc_walk walk = {.visit = copy_in, .userdata = &c, .entries_max = ENTRIES_MAX};
    if (copy < 0)
        return fail(cage, item, errno, "cannot make room for a copy of");
    if (tc_walk(&walk, item->fd) < 0)
        return fail(cage, item, errno, "cannot copy");
    if (walk.skipped)
        return fail(cage, item, 0, "not everything can be read in");
    if (p->id != (uid_t)-1 && fchownat(copy, "", p->id, (gid_t)p->id, AT_EMPTY_PATH) < 0)
        return fail(cage, item, errno, "cannot give away the copy of");
    item->copy = copy;
    return copy;
}

/* ---- out
 * ------------------------------------------------------------------------------------------ */

struct committing {
    struct tc_cage *cage;
    const struct tc_item *item;
    struct tc_outcome *found;
};

static bool moved_since(const struct tc_process_cage *p, const struct statx_timestamp *t)
{
    return t->tv_sec != p->started.tv_sec ? t->tv_sec > p->started.tv_sec
                                          : (long)t->tv_nsec >= p->started.tv_nsec;
}

static bool changed_on_host(const struct committing *c, int dir, const char *name)
{
    struct statx st;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return false;
    return moved_since(TC_PRIV(c->cage), &st.stx_ctime);
}

static void conflict(struct committing *c, const char *relative, const char *kind)
{
    struct tc_change *to = TC_PUSH(c->found->changes, c->found->change_count);
    if (!to) {
        c->found->omitted_changes++;
        return;
    }
    *to = (struct tc_change){.path = tc_path_join(c->item->path, relative), .kind = strdup(kind)};
}

/* The directory on the host that holds `relative`, never through a link. */
static int host_parent(const struct committing *c, const char *relative)
{
    _autofree_ char *parent = tc_path_parent(relative);
    return parent ? tc_resolve_beneath(c->item->fd, parent[0] == '/' ? "." : parent) : -1;
}

/* A new version beside the old one, then one rename: readers see either. */
static int replace(const struct committing *c, const struct tc_walk_entry *e, int dir)
{
    char name[64];
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -1;
    (void)snprintf(name, sizeof(name), ".toolcage-%016llx", (unsigned long long)random);
    int rc = S_ISLNK(e->st->stx_mode) ? copy_link(e->dirfd, e->name, dir, name)
                                      : copy_file(e->dirfd, e->name, dir, name, e->st->stx_mode);
    if (rc == 0 && TC_PRIV(c->cage)->host->privileged)
        rc = fchownat(dir, name, c->item->uid, c->item->gid, AT_SYMLINK_NOFOLLOW);
    if (rc == 0)
        rc = renameat(dir, name, dir, tc_path_base(e->relative));
    if (rc < 0)
        (void)unlinkat(dir, name, 0);
    return rc;
}

static int commit_directory(const struct committing *c, const struct tc_walk_entry *e, int dir)
{
    const char *name = tc_path_base(e->relative);
    if (mkdirat(dir, name, e->st->stx_mode & 0777) < 0)
        return errno == EEXIST ? 0 : -1;
    return TC_PRIV(c->cage)->host->privileged
               ? fchownat(dir, name, c->item->uid, c->item->gid, AT_SYMLINK_NOFOLLOW)
               : 0;
}

static int commit_out(void *userdata, const struct tc_walk_entry *e)
{
    struct committing *c = userdata;
    const struct tc_process_cage *p = TC_PRIV(c->cage);
    bool plain = S_ISREG(e->st->stx_mode) || S_ISLNK(e->st->stx_mode);
    bool directory = S_ISDIR(e->st->stx_mode);
    if ((!plain && !directory) || (plain && !moved_since(p, &e->st->stx_ctime)))
        return 0;
    if (tc_steers_host(e->relative)) {
        if (plain)
            conflict(c, e->relative, "held: steers the host");
        return 0;
    }
    _autofd_ int dir = host_parent(c, e->relative);
    if (dir < 0 || (plain && changed_on_host(c, dir, tc_path_base(e->relative)))) {
        conflict(c, e->relative, "conflict");
        return directory;
    }
    int rc = directory ? commit_directory(c, e, dir) : replace(c, e, dir);
    if (rc < 0)
        conflict(c, e->relative, "not committed");
    return 0;
}

/* Names of the host that the copy has no more. Directories go when they became empty. */
static int commit_removal(void *userdata, const struct tc_walk_entry *e)
{
    struct committing *c = userdata;
    struct stat st;
    struct copying seen = {.cage = c->cage, .item = c->item};
    if (denied(&seen, e->relative) || tc_steers_host(e->relative))
        return 1;
    if (fstatat(c->item->copy, e->relative, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return 0;
    bool special =
        !S_ISREG(e->st->stx_mode) && !S_ISLNK(e->st->stx_mode) && !S_ISDIR(e->st->stx_mode);
    if (special || S_ISDIR(e->st->stx_mode))
        return 0;
    if (changed_on_host(c, e->dirfd, e->name))
        conflict(c, e->relative, "conflict");
    else
        conflict(c, e->relative, unlinkat(e->dirfd, e->name, 0) == 0 ? "deleted" : "not committed");
    return 0;
}

void tc_workspace_commit(struct tc_cage *cage, struct tc_outcome *found)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < p->item_count; i++) {
        struct committing c = {.cage = cage, .item = &p->items[i], .found = found};
        struct tc_walk out = {.visit = commit_out, .userdata = &c, .entries_max = ENTRIES_MAX};
        struct tc_walk gone = {.visit = commit_removal, .userdata = &c, .entries_max = ENTRIES_MAX};
        if (c.item->copy < 0)
            continue;
        (void)tc_walk(&gone, c.item->fd);
        (void)tc_walk(&out, c.item->copy);
        found->omitted_changes += out.skipped + gone.skipped;
    }
}
