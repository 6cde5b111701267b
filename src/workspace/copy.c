/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Copies granted directories into private storage; also functions that copy one file, link or time.
 */
#include "workspace/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "linux/walk.h"

enum { ENTRIES_MAX = 1000000 };

static int fail_copy(struct tc_cage *cage, const struct tc_item *item, int errnum, const char *what)
{
    const char *hint = "check the permissions below it";
    if (errnum == ENOSPC)
        hint = "the copy must fit into `disk`: raise it, or use workspace = { mode = \"bind\" }";
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EPATH, "workspace", item->mount->from, errnum, hint),
                        TC_CLAUSE_FS_WRITE, "%s %s", what, item->mount->from);
}

/* Fails the call: an entry below the item could not be read, or is too deep. */
static int fail_at(struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    _autofree_ char *place = tc_path_join(item->mount->from, relative);
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_EPATH, "workspace", place,
                               "make it readable, or move it out: directories are copied 500 deep"),
                        TC_CLAUSE_FS_WRITE, "not everything can be read in %s",
                        place ? place : item->mount->from);
}

struct copying {
    struct tc_cage *cage;
    const struct tc_item *item;
    int to; /* root of the copy */
    uid_t uid;
    gid_t gid;
};

bool tc_workspace_denied(const struct tc_cage *cage, const struct tc_item *item,
                         const char *relative)
{
    const struct tc_plan *plan = cage->plan;
    if (plan->deny_count == 0)
        return false;
    char path[2 * PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", item->path, relative);
    return n < 0 || (size_t)n >= sizeof(path) || tc_tree_denied(plan, path);
}

struct tc_version tc_workspace_version(const struct statx *st)
{
    return (struct tc_version){.inode = st->stx_ino,
                               .size = st->stx_size,
                               .mode = st->stx_mode,
                               .mtime = st->stx_mtime,
                               .ctime = st->stx_ctime};
}

bool tc_time_same(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool tc_version_same(const struct tc_version *a, const struct tc_version *b)
{
    return a->inode == b->inode && a->size == b->size && a->mode == b->mode &&
           tc_time_same(&a->mtime, &b->mtime) && tc_time_same(&a->ctime, &b->ctime);
}

static void visit_time(struct tc_wire *w, struct statx_timestamp *t)
{
    TC_WIRE_INT(w, t->tv_sec);
    TC_WIRE_INT(w, t->tv_nsec);
}

void tc_version_visit(struct tc_wire *w, struct tc_version *v)
{
    TC_WIRE_INT(w, v->inode);
    TC_WIRE_INT(w, v->size);
    TC_WIRE_INT(w, v->mode);
    visit_time(w, &v->mtime);
    visit_time(w, &v->ctime);
}

/* On one disk the kernel copies without reading the data, or shares it. */
static off_t share_range(int from, int to, off_t at, off_t end)
{
    off_t out = at;
    ssize_t n = 1;
    while (at < end && n > 0)
        n = copy_file_range(from, &at, to, &out, (size_t)(end - at), 0);
    return at;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
    char block[65536];
    at = share_range(from, to, at, end);
    if (lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
        return -1;
    while (at < end) {
        size_t want = (size_t)(end - at) < sizeof(block) ? (size_t)(end - at) : sizeof(block);
        ssize_t n = read(from, block, want);
        if (n < 0 || (n > 0 && tc_write_all(to, block, (size_t)n) < 0))
            return -1;
        if (n == 0)
            return 0; /* the file became shorter */
        at += n;
    }
    return 0;
}

/* Copies a file and leaves its holes out: a sparse file may be larger than the disk. */
static int copy_bytes(int from, int to)
{
    off_t written = 0, end = lseek(from, 0, SEEK_END);
    for (off_t at = 0; at < end;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
        if (hole < 0 || copy_range(from, to, data, hole) < 0)
            return -1;
        at = written = hole;
    }
    return end < 0 ? -1 : written == end ? 0 : ftruncate(to, end);
}

static int copy_attribute(int from, int to, const char *name)
{
    char value[65536];
    ssize_t n = fgetxattr(from, name, value, sizeof(value));
    return n < 0 ? -1 : fsetxattr(to, name, value, (size_t)n, 0);
}

/* Copies the attributes that programs of any user can set: access control lists, too, but not the
 * marks of overlayfs. File systems limit attributes more than content, so one that does not fit is
 * left out. A list that names ids which are not mapped here cannot be copied; without it,
 * the mode's group bits, which are the list's mask, would give the group more than the list did. */
static int copy_attributes(int from, int to, mode_t mode)
{
    static const char list[] = "system.posix_acl_access", user[] = "user.",
                      mark[] = "user.overlay.";
    char names[65536];
    ssize_t n = flistxattr(from, names, sizeof(names));
    (void)fremovexattr(to, list); /* inherited from the directory */
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
        bool acl = strcmp(names + at, list) == 0;
        bool copied = acl || (tc_startswith(names + at, user) && !tc_startswith(names + at, mark));
        if (copied && copy_attribute(from, to, names + at) < 0 && acl &&
            fchmod(to, mode & 0707) < 0)
            return -1;
    }
    return n < 0 && errno != ENOTSUP ? -1 : 0;
}

int tc_workspace_copy_file(int from_dir, const char *from_name, int to_dir, const char *to_name,
                           mode_t mode)
{
    _autofd_ int from = openat(from_dir, from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _autofd_ int to = from < 0 ? -1
                               : openat(to_dir, to_name,
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0 || copy_bytes(from, to) < 0 || fchmod(to, mode & 0777) < 0)
        return -1;
    return copy_attributes(from, to, mode);
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

int tc_workspace_copy_entry(const struct tc_walk_entry *e, int to_dir, const char *to_name)
{
    return S_ISREG(e->st->stx_mode)
               ? tc_workspace_copy_file(e->dirfd, e->name, to_dir, to_name, e->st->stx_mode)
               : copy_link(e->dirfd, e->name, to_dir, to_name);
}

int tc_workspace_copy_times(int dir, const char *name, const struct statx *st)
{
    const struct timespec times[2] = {
        {.tv_sec = st->stx_atime.tv_sec, .tv_nsec = st->stx_atime.tv_nsec},
        {.tv_sec = st->stx_mtime.tv_sec, .tv_nsec = st->stx_mtime.tv_nsec}};
    return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

/* Records the metadata of the entry and of its copy. At the end of the call they show whether the
 * host changed the entry, or the tool the copy. The copy gets the entry's mtime: the clock of the
 * kernel is coarse, and a change soon after the copy must give another mtime. */
static int remember(const struct copying *c, const struct tc_walk_entry *e)
{
    struct tc_trees *t = c->cage->trees;
    struct tc_workspace *w = c->cage->workspace;
    struct statx st;
    if (tc_workspace_copy_times(c->to, e->relative, e->st) < 0 ||
        statx(c->to, e->relative, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return -1;
    char *relative = tc_arena_format(&t->arena, "%s", e->relative);
    struct tc_copied *entry = relative ? TC_PUSH(w->copied, w->copied_count) : NULL;
    if (!entry) {
        errno = ENOMEM;
        return -1;
    }
    *entry = (struct tc_copied){.item = c->item,
                                .relative = relative,
                                .copy = tc_workspace_version(&st),
                                .host = tc_workspace_version(e->st)};
    return 0;
}

/* Entries of the workspace's owner get the cage's id. Other entries get id 0, so the tool does not
 * own them, as in a bound workspace. */
static int give(const struct copying *c, const struct tc_walk_entry *e)
{
    uid_t uid = e->st->stx_uid == c->item->uid ? c->uid : 0;
    gid_t gid = e->st->stx_gid == c->item->gid ? c->gid : 0;
    return fchownat(c->to, e->relative, uid, gid, AT_SYMLINK_NOFOLLOW);
}

int tc_workspace_kernel_fs(const struct tc_walk_entry *e)
{
    if (!(e->st->stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return 0;
    _autofd_ int fd = openat(e->dirfd, e->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : tc_tree_kernel_fs(fd);
}

/* Writable, whatever its mode on the host: it must be filled. The helper's umask does not count. */
static int copy_directory(int to, const char *name, unsigned mode)
{
    mode = tc_rights(mode) | 0700;
    return mkdirat(to, name, mode) < 0 ? -1 : fchmodat(to, name, mode, 0);
}

static int copy_in(void *userdata, const struct tc_walk_entry *e)
{
    struct copying *c = userdata;
    if (c->cage->answered) {
        errno = ECANCELED;
        return -1;
    }
    if (tc_workspace_denied(c->cage, c->item, e->relative))
        return 1;
    int rc = 0;
    if (S_ISDIR(e->st->stx_mode))
        rc = copy_directory(c->to, e->relative, e->st->stx_mode);
    else if (S_ISREG(e->st->stx_mode) || S_ISLNK(e->st->stx_mode))
        rc = tc_workspace_copy_entry(e, c->to, e->relative);
    else
        return 0;
    if (rc == 0 && c->uid != (uid_t)-1)
        rc = give(c, e);
    if (rc < 0 || remember(c, e) < 0)
        return -1;
    return S_ISDIR(e->st->stx_mode) ? tc_workspace_kernel_fs(e) : 0;
}

int tc_workspace_copy(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_trees *t = cage->trees;
    const struct tc_limits *l = &cage->plan->limits;
    int copy = tc_tree_keep(t, tc_tmpfs(l->disk, l->inodes, "0700", true));
    struct copying c = {.cage = cage, .item = item, .to = copy, .uid = t->id, .gid = (gid_t)t->id};
    struct tc_walk walk = {.visit = copy_in, .userdata = &c, .entries_max = ENTRIES_MAX};
    struct stat st;
    if (copy < 0)
        return fail_copy(cage, item, errno, "cannot create the storage for a copy of");
    if (tc_walk(&walk, item->fd) < 0)
        return fail_copy(cage, item, errno, "cannot copy");
    if (walk.skipped)
        return fail_at(cage, item, walk.left);
    if (fstat(item->fd, &st) < 0 || fchmodat(copy, ".", tc_rights(st.st_mode) | 0700, 0) < 0)
        return fail_copy(cage, item, errno, "cannot set the mode of the copy of");
    if (t->id != (uid_t)-1 && fchownat(copy, "", t->id, (gid_t)t->id, AT_EMPTY_PATH) < 0)
        return fail_copy(cage, item, errno, "cannot change the owner of the copy of");
    item->copy = copy;
    return copy;
}
