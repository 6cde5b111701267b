/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An overlaid workspace: the tool sees the host's tree, and its changes go into a layer above it
 * (layer.c). Only files that the tool writes are copied.
 *
 * The host's own changes during the call are found by time, without a copy of everything: writing,
 * creating or moving a file sets its ctime. A directory that replaced another one brings old files
 * along, so the directories are recorded at the start, and so are the names, which show what was
 * removed. */
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "tree/steering.h"
#include "workspace/copy.h"
#include "workspace/layer.h"
#include "workspace/session.h"

enum { NAMES_MAX = 1000000, ENTRIES_MAX = 2000000 };

/* ---- before the call ---- */

static int fail_overlay(struct tc_cage *cage, const struct tc_item *item, int errnum,
                        const char *hint, const char *what)
{
    return tc_cage_fail(
        cage, TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "overlay", item->mount->from, errnum, hint),
        tc_cage_unlayered(cage, TC_CLAUSE_FS_WRITE), "%s %s", what, item->mount->from);
}

static const char use_copy[] = "use workspace = { mode = \"copy\" }";

bool tc_overlay_wanted(const struct tc_plan *plan, const struct tc_item *item)
{
    return plan->workspace == TC_WORKSPACE_OVERLAY && tc_tree_copied(plan, item);
}

struct inventory {
    struct tc_cage *cage;
    const struct tc_item *item;
};

static int add_place(const struct inventory *c, const char *relative, const struct statx *st)
{
    struct tc_workspace *w = c->cage->workspace;
    char *kept = tc_arena_format(&c->cage->trees->arena, "%s", relative);
    struct tc_overlay_place *place = kept ? TC_PUSH(w->places, w->place_count) : NULL;
    if (!place) {
        errno = ENOMEM;
        return -1;
    }
    *place = (struct tc_overlay_place){.item = c->item, .relative = kept};
    if (S_ISDIR(st->stx_mode)) {
        place->inode = st->stx_ino;
        place->mode = st->stx_mode;
        place->device = makedev(st->stx_dev_major, st->stx_dev_minor);
    }
    return 0;
}

/* Has the directory an access control list? The ids that it names may not be mapped where
 * overlayfs, for root, or a commit, in a user namespace, would copy it. */
static bool has_list(const struct inventory *c, int dirfd, const char *name)
{
    char path[64 + NAME_MAX], names[4096];
    if (c->item->near && !c->cage->trees->host->privileged)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
    ssize_t n = llistxattr(path, names, sizeof(names));
    return n > 0 && tc_contains(names, (size_t)n, "system.posix_acl_");
}

/* Is it a directory of another owner or group that the tool may write? A bind lets an ordinary
 * caller's tool change its entries, but an overlay cannot copy them. */
static bool is_foreign(const struct inventory *c, int dirfd, const char *name,
                       const struct statx *st)
{
    return !c->cage->trees->host->privileged &&
           (st->stx_uid != geteuid() || st->stx_gid != getegid()) &&
           faccessat(dirfd, name, W_OK, AT_EACCESS) == 0;
}

/* Does a bind let the tool change entries that an overlay cannot copy? Only directories are looked
 * at, because looking at files takes as long as a bind. */
static bool needs_bind(const struct inventory *c, int dirfd, const char *name,
                       const struct statx *st)
{
    if (!S_ISDIR(st->stx_mode) || c->cage->plan->instead != TC_INSTEAD_BIND)
        return false;
    bool foreign = is_foreign(c, dirfd, name, st);
    if (!foreign && !has_list(c, dirfd, name))
        return false;
    errno = foreign ? EOVERFLOW : EMEDIUMTYPE;
    return true;
}

static int note_name(void *userdata, const struct tc_walk_entry *e)
{
    const struct inventory *c = userdata;
    if (needs_bind(c, e->dirfd, e->name, e->st))
        return -1;
    if (c->cage->answered) {
        errno = ECANCELED;
        return -1;
    }
    if (tc_workspace_denied(c->cage, c->item, e->relative))
        return 1;
    if (add_place(c, e->relative, e->st) < 0)
        return -1;
    /* 1: does not enter a mounted /proc or similar */
    return S_ISDIR(e->st->stx_mode) ? tc_workspace_kernel_fs(e) : 0;
}

static int take_inventory(struct tc_cage *cage, const struct tc_item *item)
{
    struct inventory c = {.cage = cage, .item = item};
    struct tc_walk walk = {
        .visit = note_name, .userdata = &c, .names_only = true, .entries_max = NAMES_MAX};
    struct statx root;
    if (statx(item->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &root) < 0 ||
        add_place(&c, "", &root) < 0)
        return fail_overlay(cage, item, errno, use_copy, "cannot list the names in");
    int rc = needs_bind(&c, item->fd, ".", &root) ? -1 : tc_walk(&walk, item->fd);
    if (rc < 0 && errno == EOVERFLOW)
        return fail_overlay(cage, item, 0, use_copy, "another user or group has directories in");
    if (rc < 0 && errno == EMEDIUMTYPE)
        return fail_overlay(cage, item, 0, use_copy, "an access control list is set in");
    if (rc < 0)
        return fail_overlay(cage, item, errno, use_copy, "cannot list the names in");
    /* unreadable directories were skipped, which does no harm: the tool cannot change them either
     */
    return walk.seen < NAMES_MAX
               ? 0
               : fail_overlay(cage, item, E2BIG, use_copy, "there are too many names in");
}

static int refuse_mounts(struct tc_cage *cage, const struct tc_item *item, const char *mounts)
{
    _autofree_ char *below = NULL;
    if (tc_tree_mount_below(item, mounts, &below) < 0)
        return fail_overlay(cage, item, errno, use_copy, "cannot list the mounts below");
    _autofree_ char *hint =
        below ? tc_format("%s, or unmount %s/%s", use_copy, item->mount->from, below) : NULL;
    return below ? fail_overlay(cage, item, 0, hint, "an overlay does not show the mounts below")
                 : 0;
}

static int64_t ns_of(int64_t seconds, int64_t nanoseconds)
{
    return seconds * 1000000000 + nanoseconds;
}

static int64_t real_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return ns_of(now.tv_sec, now.tv_nsec);
}

static int make_layer(struct tc_cage *cage, struct tc_item *item)
{
    const char *hint, *what;
    return tc_layer_make(cage, item, &hint, &what) < 0 ? fail_overlay(cage, item, errno, hint, what)
                                                       : 0;
}

/* Do changes of the item from now on get a later time than the start? Since Linux 6.13 a change
 * after a look at the time gets an exact one, and no later change of a file an earlier one, on the
 * file systems that can receive the changes of an overlay. So this one must be the item's. */
static bool passes_start(const struct tc_workspace *w, const struct tc_item *item)
{
    struct stat st;
    return item->near && fstat(item->copy, &st) == 0 &&
           fchmod(item->copy, st.st_mode & 07777) == 0 && fstat(item->copy, &st) == 0 &&
           ns_of(st.st_ctim.tv_sec, st.st_ctim.tv_nsec) >= w->opened_ns;
}

int tc_overlay_open(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    struct tc_workspace *w = cage->workspace;
    if (tc_tree_remote_fs(item->fd))
        return fail_overlay(cage, item, 0, use_copy,
                            "an overlay needs a local file system, unlike that of");
    if (!w->opened_ns) {
        w->opened_ns = real_ns();
        w->opened_us = tc_now_us();
    }
    if (refuse_mounts(cage, item, mounts) < 0 || make_layer(cage, item) < 0 ||
        take_inventory(cage, item) < 0)
        return -1;
    w->waits = w->waits || !passes_start(w, item);
    return tc_session_restore_layer(cage, item);
}

/* ---- after the call ---- */

struct comparison {
    struct tc_cage *cage;
    struct tc_workspace *w;
    const struct tc_item *item;
    bool clock_reliable;    /* the clock was not set back */
    char covered[PATH_MAX]; /* everything of the host below this path is recorded; "": none */
};

/* After the clock was set back, times since the start prove nothing. */
static bool clock_reliable(const struct tc_workspace *w)
{
    int64_t real = real_ns() - w->opened_ns;
    int64_t passed = (tc_now_us() - w->opened_us) * 1000;
    /* tolerates a clock that is slowed by 0.1 %, and 10 ms */
    return real > passed - passed / 1000 - 10000000;
}

static int by_place(const void *a, const void *b)
{
    const struct tc_overlay_place *x = a, *y = b;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return strcmp(x->relative, y->relative);
}

static const struct tc_overlay_place *find_place(const struct tc_workspace *w,
                                                 const struct tc_item *item, const char *relative)
{
    const struct tc_overlay_place key = {.item = item, .relative = relative};
    return w->places ? bsearch(&key, w->places, w->place_count, sizeof(key), by_place) : NULL;
}

static const struct tc_overlay_place *place_of(const struct comparison *c, const char *relative)
{
    return find_place(c->w, c->item, relative);
}

/* Is this the directory that was there at the start? */
static bool same_directory(const struct comparison *c, const char *relative, uint64_t inode,
                           dev_t device)
{
    const struct tc_overlay_place *was = place_of(c, relative);
    return was && was->inode == inode && was->device == device;
}

static bool same_parent(const struct comparison *c, const char *relative, int dir)
{
    _autofree_ char *parent = tc_path_parent(relative);
    struct stat st;
    if (!parent || fstat(dir, &st) < 0)
        return false;
    return parent[0] == '/' || same_directory(c, parent, st.st_ino, st.st_dev);
}

/* Some file systems store times in steps of up to two seconds. */
static bool is_older(const struct comparison *c, const struct statx_timestamp *t)
{
    int64_t at = ns_of(t->tv_sec, t->tv_nsec), coarse = t->tv_nsec ? 0 : 2000000000;
    return at + coarse < c->w->opened_ns;
}

/* Has the host not changed the entry since the start? `dir` is its parent directory. */
static bool untouched(const struct comparison *c, const char *relative, int dir,
                      const struct statx *host)
{
    if (!c->clock_reliable)
        return false;
    if (S_ISDIR(host->stx_mode))
        return same_directory(c, relative, host->stx_ino,
                              makedev(host->stx_dev_major, host->stx_dev_minor));
    return is_older(c, &host->stx_ctime) && same_parent(c, relative, dir);
}

/* Records an entry as if it had been copied. `copy`: the layer's version, if the tool did not
 * change the content; else NULL. If the host changed the entry since the start, the host version
 * stays empty and equals no file, so a commit is a conflict. */
static int note(struct comparison *c, const char *relative, int dir, const struct statx *host,
                const struct tc_version *copy)
{
    char *name = tc_arena_format(&c->cage->trees->arena, "%s", relative);
    struct tc_copied *entry = name ? TC_PUSH(c->w->copied, c->w->copied_count) : NULL;
    if (!entry) {
        errno = ENOMEM;
        return -1;
    }
    *entry = (struct tc_copied){.item = c->item, .relative = name};
    bool from_session = tc_session_base(c->w, c->item, relative, host->stx_mode, &entry->host);
    if (!from_session && untouched(c, relative, dir, host))
        entry->host = tc_workspace_version(host);
    entry->copy.mode = host->stx_mode;
    const struct tc_overlay_place *place = S_ISDIR(host->stx_mode) ? place_of(c, relative) : NULL;
    if (place &&
        place->mode) { /* a directory: the host may have changed its mode since the start */
        entry->copy.mode = place->mode;
        entry->host.mode = entry->host.mode ? place->mode : 0;
    }
    if (copy)
        entry->copy = *copy;
    return 0;
}

struct below {
    struct comparison *comparison;
    const char *start;
};

static int note_below(void *userdata, const struct tc_walk_entry *e)
{
    const struct below *b = userdata;
    struct comparison *c = b->comparison;
    _autofree_ char *relative = tc_path_join(b->start, e->relative);
    if (!relative) {
        errno = ENOMEM;
        return -1;
    }
    if (tc_workspace_denied(c->cage, c->item, relative))
        return 1; /* the tool never saw this entry: no commit removes it */
    if (S_ISDIR(e->st->stx_mode) && e->st->stx_attributes & STATX_ATTR_MOUNT_ROOT)
        return 1;
    return note(c, relative, e->dirfd, e->st, NULL);
}

/* Records everything in a host directory that the layer hides. */
static int cover(struct comparison *c, const char *relative, int dir)
{
    struct below below = {.comparison = c, .start = relative};
    struct tc_walk walk = {.visit = note_below, .userdata = &below, .entries_max = ENTRIES_MAX};
    _autofd_ int fd =
        openat(dir, tc_path_base(relative), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || tc_walk(&walk, fd) < 0)
        return -1;
    if (walk.skipped) { /* entries that were not seen must not be lost: nothing is committed */
        errno = E2BIG;
        return -1;
    }
    tc_strcopy(c->covered, sizeof(c->covered), relative);
    return 0;
}

/* 1, 0, or -1 with errno. */
static int has_attribute(const struct tc_walk_entry *e, const char *name)
{
    char path[64 + NAME_MAX];
    char value[8];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", e->dirfd, e->name);
    if (lgetxattr(path, name, value, sizeof(value)) >= 0 || errno == ERANGE)
        return 1;
    return errno == ENODATA || errno == ENOTSUP ? 0 : -1;
}

/* Compares two files of the same size. */
static bool same_bytes(int a, int b, uint64_t size)
{
    enum { BLOCK = 65536 };
    char left[BLOCK], right[BLOCK];
    for (uint64_t at = 0; at < size; at += BLOCK) {
        ssize_t want = (ssize_t)(size - at < BLOCK ? size - at : BLOCK);
        if (pread(a, left, (size_t)want, (off_t)at) != want ||
            pread(b, right, (size_t)want, (off_t)at) != want ||
            memcmp(left, right, (size_t)want) != 0)
            return false;
    }
    return true;
}

static int open_file(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool same_link(const struct tc_walk_entry *e, int dir)
{
    char left[PATH_MAX], right[PATH_MAX];
    ssize_t n = readlinkat(e->dirfd, e->name, left, sizeof(left));
    return n >= 0 && readlinkat(dir, e->name, right, sizeof(right)) == n &&
           memcmp(left, right, (size_t)n) == 0;
}

bool tc_overlay_same(const struct tc_walk_entry *e, int dir, const struct statx *host)
{
    enum { COMPARED_MAX = 64 << 20 };
    const struct statx *st = e->st;
    if (S_ISLNK(st->stx_mode) && S_ISLNK(host->stx_mode))
        return same_link(e, dir);
    if (!S_ISREG(st->stx_mode) || st->stx_mode != host->stx_mode ||
        st->stx_size != host->stx_size || st->stx_size > COMPARED_MAX)
        return false;
    _autofd_ int layer = open_file(e->dirfd, e->name);
    _autofd_ int below = open_file(dir, e->name);
    return layer >= 0 && below >= 0 && same_bytes(layer, below, st->stx_size);
}

/* overlayfs copies a file up when it is opened for writing, even if it is not written. */
static bool is_unchanged(const struct tc_walk_entry *e, int dir, const struct statx *host)
{
    return (S_ISLNK(e->st->stx_mode) || tc_time_same(&e->st->stx_mtime, &host->stx_mtime)) &&
           tc_overlay_same(e, dir, host);
}

/* The host has no such entry now. If it had one at the start, records that; without a directory the
 * entry counts as changed by the host. */
static int note_gone(struct comparison *c, const struct tc_walk_entry *e)
{
    const struct statx was = {.stx_mode = e->st->stx_mode};
    const struct tc_held_row *row = tc_session_row(c->w, c->item, e->relative);
    if (S_ISCHR(e->st->stx_mode) || (row && row->kind ? !row->was : !place_of(c, e->relative)))
        return 0;
    return note(c, e->relative, -1, &was, NULL);
}

static int compare_entry(struct comparison *c, const struct tc_walk_entry *e, int dir,
                         const struct statx *host)
{
    bool directory = S_ISDIR(e->st->stx_mode), was_directory = S_ISDIR(host->stx_mode);
    const struct tc_held_row *row = tc_session_row(c->w, c->item, e->relative);
    if (!place_of(c, e->relative) || (row && row->kind && !row->was))
        return 0; /* created by the host during the call */
    struct tc_version now = tc_workspace_version(e->st);
    bool same = !directory && !was_directory && is_unchanged(e, dir, host);
    if (note(c, e->relative, dir, host, same ? &now : NULL) < 0)
        return -1;
    if (!was_directory || !untouched(c, e->relative, dir, host))
        return 0;
    int opaque = directory ? has_attribute(e, "user.overlay.opaque") : 1;
    return opaque > 0 ? cover(c, e->relative, dir) : opaque;
}

/* Is it a new file whose name steers the host? Out of memory, it is not noted. */
static void note_moved(struct comparison *c, const struct tc_walk_entry *e)
{
    const struct statx *st = e->st;
    if (!S_ISREG(st->stx_mode) || place_of(c, e->relative) ||
        tc_item_steers(c->item, e->relative) != TC_STEERS_HOST)
        return;
    struct tc_moved *moved = TC_PUSH(c->w->moved, c->w->moved_count);
    if (moved)
        *moved = (struct tc_moved){c->item, st->stx_size, st->stx_mtime};
}

static int visit(void *userdata, const struct tc_walk_entry *e)
{
    struct comparison *c = userdata;
    struct statx host;
    note_moved(c, e);
    if (c->covered[0] && tc_path_within(c->covered, e->relative))
        return 0;
    if (tc_workspace_denied(c->cage, c->item, e->relative))
        return 1;
    _autofd_ int dir = tc_resolve_parent(c->item->fd, e->relative);
    if (dir < 0 && tc_resolve_gone(errno))
        return note_gone(c, e);
    if (dir < 0)
        return -1;
    if (statx(dir, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &host) == 0)
        return compare_entry(c, e, dir, &host);
    return errno == ENOENT || errno == ENOTDIR ? note_gone(c, e) : -1;
}

unsigned tc_overlay_mode(const struct tc_workspace *w, const struct tc_item *item)
{
    const struct tc_overlay_place *root = find_place(w, item, "");
    return root ? root->mode : 0;
}

int tc_overlay_compare(struct tc_cage *cage, const struct tc_item *item)
{
    struct tc_workspace *w = cage->workspace;
    struct comparison c = {.cage = cage, .w = w, .item = item, .clock_reliable = clock_reliable(w)};
    struct tc_walk walk = {.visit = visit, .userdata = &c, .entries_max = ENTRIES_MAX};
    if (w->places)
        qsort(w->places, w->place_count, sizeof(*w->places), by_place);
    if (tc_walk(&walk, item->copy) < 0)
        return -1;
    if (walk.skipped)
        tc_workspace_left(cage, item, walk.left); /* the commit does not reach it, either */
    return 0;
}
