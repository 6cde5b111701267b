/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The layer of an overlay: the directory that receives the tool's changes. It is in the state
 * directory: a commit renames each changed file if that is on the mount of the workspace, and else
 * copies it. If the state directory cannot hold it, and where the policy limits `disk`, it is a
 * tmpfs. */
#include "workspace/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"
#include "state/store.h"
#include "workspace/state.h"

static const char layers[] = "layers"; /* in the state directory */

/* In the layer's own directory: a tool that fills the disk must leave room for the journal. */
static const char reserve[] = "reserve";
enum { RESERVED = 4 << 20, LEFT_MAX = 32 };

/* overlayfs marks a directory with replaced content by an attribute. */
static bool keeps_attributes(int dir)
{
    static const char name[] = "user.toolcage";
    return fsetxattr(dir, name, "", 0, 0) == 0 && fremovexattr(dir, name) == 0;
}

/* ---- on the disk of the workspace ---- */

/* The file systems whose directories can receive the changes of an overlay. */
static bool receives_changes(int fd)
{
    static const unsigned long magics[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                           TMPFS_MAGIC};
    struct statfs s;
    for (size_t i = 0; fstatfs(fd, &s) == 0 && i < TC_COUNT(magics); i++)
        if ((unsigned long)s.f_type == magics[i])
            return true;
    return false;
}

static bool in_memory(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) == 0 && s.f_type == TMPFS_MAGIC;
}

/* Can an entry be renamed from one directory to the other? A rename stays within one mount. */
static bool same_mount(int a, int b)
{
    struct statx x, y;
    return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0 &&
           statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) == 0 && x.stx_mask & STATX_MNT_ID &&
           x.stx_mnt_id == y.stx_mnt_id && x.stx_dev_major == y.stx_dev_major &&
           x.stx_dev_minor == y.stx_dev_minor;
}

/* Is one of the directories inside the other? Layers of an overlay must not overlap. */
static bool overlap(int a, int b)
{
    char x[PATH_MAX], y[PATH_MAX];
    return tc_resolve_name(a, x) < 0 || tc_resolve_name(b, y) < 0 || tc_path_within(x, y) ||
           tc_path_within(y, x);
}

/* Is the store inside the directory, although a bind mount shows that at another path? True if a
 * directory above the store cannot be examined. */
static bool is_within(int store, int dir)
{
    char path[PATH_MAX] = ".";
    struct stat top, at, above;
    if (fstat(dir, &top) < 0 || fstat(store, &at) < 0)
        return true;
    for (size_t n = 1; n + 4 < sizeof(path); n += 3, at = above) {
        if (at.st_dev == top.st_dev && at.st_ino == top.st_ino)
            return true;
        tc_strcopy(path + n, sizeof(path) - n, "/..");
        if (fstatat(store, path, &above, 0) < 0)
            return true;
        if (above.st_dev == at.st_dev && above.st_ino == at.st_ino)
            return false;
    }
    return true;
}

/* Returns the layer's own directory, locked. The lock outlives the helper where a process completes
 * a commit. */
static int begin_layer(struct tc_cage *cage, const struct tc_item *item, int store)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_disk_layer *layer = TC_PUSH(w->layers, w->layer_count);
    if (!layer)
        return -1;
    *layer = (struct tc_disk_layer){.store = store, .item = item};
    int own = tc_tree_keep(cage->trees, tc_store_begin(store, &layer->name));
    if (own < 0) {
        free(TAKE(layer->name));
        w->layer_count--;
    }
    return own;
}

static bool reserves(int own)
{
    _autofd_ int fd = openat(own, reserve, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && (fallocate(fd, 0, 0, RESERVED) == 0 || errno == EOPNOTSUPP);
}

/* Only the caller may enter the directory `own`; the one in it belongs to the owner of the
 * workspace, who appears as the tool's id. */
static int fill_layer(struct tc_cage *cage, const struct tc_item *item, int own)
{
    struct tc_trees *t = cage->trees;
    static const char *const names[] = {"l", "l/u", "l/w"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (mkdirat(own, names[i], 0755) < 0 ||
            (t->host->privileged && fchownat(own, names[i], item->uid, item->gid, 0) < 0))
            return -1;
    return reserves(own)
               ? tc_tree_keep(t, openat(own, "l", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
               : -1;
}

/* False: a tmpfs must do. Files of a workspace in memory are not moved to a disk, nor the other way
 * round. */
static bool make_on_disk(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_trees *t = cage->trees;
    const struct tc_plan *plan = cage->plan;
    if (plan->limits.disk_set || plan->session || plan->uid)
        return false;
    int store = tc_tree_keep(t, tc_state_open_disk(layers));
    if (store < 0 || !receives_changes(store) || overlap(item->fd, store))
        return false;
    bool near = same_mount(item->fd, store);
    if (!near && (in_memory(item->fd) || in_memory(store) || is_within(store, item->fd)))
        return false;
    int own = begin_layer(cage, item, store), both = own < 0 ? -1 : fill_layer(cage, item, own);
    int upper = both < 0 ? -1 : openat(both, "u", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tc_tree_keep(t, upper) < 0 || !keeps_attributes(upper))
        return false;
    item->layers = tc_tree_show(cage, item, both);
    item->copy = item->layers < 0 ? -1 : upper;
    item->on_disk = item->layers >= 0;
    item->near = near && item->on_disk;
    return item->on_disk;
}

/* ---- a commit that is not complete ---- */

static const char mark[] = "commit"; /* in the layer's own directory: a link to the journal */

static char *mark_of(const struct tc_disk_layer *layer)
{
    return tc_format("%s/%s", layer->name, mark);
}

int tc_layers_keep(const struct tc_workspace *w, const char *journal)
{
    for (size_t i = 0; i < w->layer_count; i++) {
        _autofree_ char *at = mark_of(&w->layers[i]);
        if (!at || (symlinkat(journal, w->layers[i].store, at) < 0 && errno != EEXIST))
            return -1;
    }
    return 0;
}

void tc_layers_free(const struct tc_workspace *w)
{
    for (size_t i = 0; i < w->layer_count; i++) {
        _autofree_ char *at = mark_of(&w->layers[i]);
        if (at)
            (void)unlinkat(w->layers[i].store, at, 0);
    }
}

/* Is there still the journal that the mark names? */
static bool is_kept(int dir, const char *at)
{
    char journal[NAME_MAX + 1];
    ssize_t n = readlinkat(dir, at, journal, sizeof(journal) - 1);
    if (n < 0)
        return false;
    journal[n] = '\0';
    _autofd_ int journals = strchr(journal, '/') ? -1 : tc_state_look(TC_STATE_COMMITS);
    return journals >= 0 && faccessat(journals, journal, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_left(int own, const char *name)
{
    return tc_store_is_begun(own, name) && !is_kept(own, mark);
}

int tc_layer_look(const char *name)
{
    _autofd_ int store = tc_state_look_disk(layers);
    _autofd_ int own = store < 0 ? -1 : tc_store_enter(store, name);
    return own < 0 ? -1 : tc_resolve_beneath(own, "l/u");
}

void tc_layers_release(const struct tc_workspace *w)
{
    for (size_t i = 0; i < w->layer_count; i++) {
        _autofree_ char *at = tc_format("%s/%s", w->layers[i].name, reserve);
        if (at)
            (void)unlinkat(w->layers[i].store, at, 0);
    }
}

char *tc_layers_leave(const struct tc_workspace *w, const char *call)
{
    char *first = NULL;
    for (size_t i = 0; i < w->layer_count; i++) {
        const struct tc_disk_layer *layer = &w->layers[i];
        _autofree_ char *name = tc_format("%s.%zu", call, i);
        bool left = name && !tc_layer_untouched(layer->item) &&
                    tc_store_count(layer->store) < LEFT_MAX &&
                    tc_store_place(layer->store, layer->name, layer->store, name, false) == 0;
        if (left && !first)
            first = tc_format("%s/%s/%s/l/u", tc_state_given(), layers, name);
    }
    return first;
}

void tc_layers_remove(struct tc_workspace *w)
{
    while (w->layer_count) {
        struct tc_disk_layer *layer = &w->layers[--w->layer_count];
        _autofree_ char *at = mark_of(layer);
        if (at && !is_kept(layer->store, at))
            (void)tc_remove_tree(layer->store, layer->name); /* a sweep removes the rest */
        free(layer->name);
    }
    free(TAKE(w->layers));
}

unsigned tc_layers_sweep(void)
{
    _autofd_ int store = tc_state_look_disk(layers);
    return tc_store_sweep(store, is_left);
}

/* ---- in memory ---- */

/* Memory may be too small for what fits on a disk, so a bind is better, unless the workspace is in
 * memory, too. */
static bool prefers_bind(const struct tc_cage *cage, const struct tc_item *item)
{
    return cage->plan->instead == TC_INSTEAD_BIND && !in_memory(item->fd);
}

static int make_in_memory(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_trees *t = cage->trees;
    const struct tc_limits *l = &cage->plan->limits;
    bool whole = cage->plan->instead == TC_INSTEAD_BIND && l->disk < l->memory;
    int storage = tc_tree_keep(t, tc_tmpfs(whole ? l->memory : l->disk, l->inodes, "0755", true));
    item->copy = storage < 0 ? -1 : tc_tree_layer(t, storage);
    item->layers = item->copy < 0 ? -1 : storage;
    return item->layers;
}

int tc_layer_make(struct tc_cage *cage, struct tc_item *item, const char **ret_hint,
                  const char **ret_what)
{
    struct stat st;
    *ret_hint = "check the size of `disk` in the policy";
    *ret_what = "cannot create the storage for the changes of";
    bool on_disk = make_on_disk(cage, item);
    if (!on_disk && prefers_bind(cage, item)) {
        *ret_what = "the state directory (XDG_STATE_HOME) must be outside and on ext4, xfs or "
                    "btrfs, with some MiB free, to hold the changes of";
        errno = 0;
        return -1;
    }
    if (!on_disk && make_in_memory(cage, item) < 0)
        return -1;
    if (fstat(item->fd, &st) < 0 || fchmod(item->copy, tc_rights(st.st_mode)) < 0 ||
        futimens(item->copy, (struct timespec[]){st.st_atim, st.st_mtim}) < 0)
        return -1;
    *ret_hint = "use workspace = { mode = \"copy\" }, or a kernel from Linux 6.6 on, whose tmpfs "
                "keeps user attributes";
    *ret_what = "this kernel's tmpfs cannot hold an overlay of";
    return item->on_disk || keeps_attributes(item->copy) ? 0 : -1;
}

/* ---- at a commit ---- */

bool tc_layer_untouched(const struct tc_item *item)
{
    struct stat ours, hosts;
    struct dirent *e;
    bool alone = item->layers >= 0 && !item->single_dir && !item->name;
    _autodir_ DIR *dir = alone ? tc_list_dir(item->copy) : NULL;
    return dir && tc_next_entry(dir, &e) == 0 && fstat(item->copy, &ours) == 0 &&
           fstat(item->fd, &hosts) == 0 && tc_rights(ours.st_mode) == tc_rights(hosts.st_mode);
}

/* Removes the attributes with which overlayfs marks a file that it has copied. */
static bool unmark(const struct tc_walk_entry *e)
{
    static const char prefix[] = "user.overlay.";
    char path[64 + NAME_MAX], names[4096];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", e->dirfd, e->name);
    ssize_t n = llistxattr(path, names, sizeof(names));
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1)
        if (strncmp(names + at, prefix, strlen(prefix)) == 0 && lremovexattr(path, names + at) < 0)
            return false;
    return n >= 0 || errno == ENOTSUP;
}

static bool project_of(int fd, struct fsxattr *ret)
{
    _autofd_ int dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && ioctl(dir, FS_IOC_FSGETXATTR, ret) == 0;
}

bool tc_layer_apart(const struct tc_item *item, int dir)
{
    struct fsxattr host, ours;
    return !same_mount(item->copy, dir) ||
           (project_of(dir, &host) && host.fsx_xflags & FS_XFLAG_PROJINHERIT &&
            (!project_of(item->copy, &ours) || ours.fsx_projid != host.fsx_projid));
}

bool tc_layer_moves(const struct tc_cage *cage, const struct tc_item *item,
                    const struct tc_walk_entry *e)
{
    const struct statx *st = e->st;
    bool its_owner =
        !cage->trees->host->privileged || (st->stx_uid == item->uid && st->stx_gid == item->gid);
    return item->near && its_owner && !(st->stx_mode & 07000) && unmark(e);
}
