/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Single writable files. A bound file cannot be replaced, and most programs save by replacing. So
 * the tool gets a copy in a private directory: its changes stay there, and only the file itself is
 * committed. If the directory is readable, an overlay shows its other entries. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "linux/mounts.h"
#include "policy/names/system_paths.h"
#include "tree/tree.h"

int tc_single_file_fail(struct tc_cage *cage, const struct tc_item *item, int errnum,
                        const char *before, const char *after)
{
    const char *hint = errnum == ENOSPC ? "the copy must fit into `disk`: raise it"
                                        : "grant the directory that holds it";
    return tc_tree_refuse(cage, item->mount, errnum, hint, before, after);
}

/* Does the writable tree show the same file at the same path? */
static bool shown_by(const struct tc_item *tree, const struct tc_item *item, const char *parent)
{
    const char *below = parent + strlen(tree->path);
    struct stat here, there;
    _autofd_ int fd = tc_resolve_beneath(tree->fd, below + (*below == '/'));
    return fd >= 0 && fstat(fd, &here) == 0 && fstat(item->fd, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino &&
           strcmp(item->name, item->host_name) == 0;
}

/* The commit creates a new version next to the old file, so the caller must be able to create one
 * with the same owner. */
static int check_writable(struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_tree_host *host = cage->trees->host;
    if (faccessat(item->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return tc_single_file_fail(cage, item, errno, "the directory that holds ",
                                   " cannot be written");
    if (host->privileged || !item->id.dev)
        return 0;
    if (item->uid != host->uid)
        return tc_single_file_fail(cage, item, 0, "",
                                   " belongs to another user, but its new version would be yours");
    if (faccessat(item->fd, item->host_name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
        return tc_single_file_fail(cage, item, errno, "granted path ", " cannot be written");
    return 0;
}

/* Makes a mount point, and the tool the owner of each directory above it: overlayfs sets attributes
 * on the directories that it merges. */
int tc_single_file_point(const struct tc_trees *t, const struct tc_item *single_dir,
                         const char *relative, bool directory)
{
    _autofree_ char *path = strdup(relative);
    for (char *slash = path; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (!slash)
            break;
        *slash = '\0';
        if (mkdirat(single_dir->copy, path, 0755) < 0 ? errno != EEXIST
                                                      : tc_tree_own(t, single_dir->copy, path) < 0)
            return -1;
    }
    int rc = !path       ? -1
             : directory ? (mkdirat(single_dir->copy, path, 0755) < 0 && errno != EEXIST ? -1 : 0)
                         : mknodat(single_dir->copy, path, S_IFREG, 0);
    return rc < 0 ? -1 : tc_tree_own(t, single_dir->copy, path);
}

static int open_single_dir(struct tc_cage *cage, struct tc_item *single_dir)
{
    struct tc_trees *t = cage->trees;
    const struct tc_limits *l = &cage->plan->limits;
    int storage = tc_tree_keep(t, tc_tmpfs(l->disk, l->inodes, "0755", true));
    if (storage < 0)
        return -1;
    single_dir->single_dir = true;
    if (single_dir->fd < 0) {
        single_dir->copy = storage;
        return tc_tree_own(t, storage, "");
    }
    single_dir->layers = storage;
    single_dir->copy = tc_tree_layer(t, storage);
    return single_dir->copy < 0 ? -1 : 0;
}

static struct tc_item *find_item(const struct tc_trees *t, const char *path)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (strcmp(t->items[i].path, path) == 0)
            return &t->items[i];
    return NULL;
}

/* The item of the file's directory; created if the grant does not name the directory. NULL with
 * errno. */
static struct tc_item *single_dir_at(struct tc_cage *cage, const struct tc_item *file, char *path)
{
    struct tc_trees *t = cage->trees;
    struct tc_item *at = find_item(t, path);
    const struct tc_item *in = tc_tree_holder(t, file->path);
    struct stat st = {.st_uid = t->host->uid, .st_gid = t->host->gid};
    int fd = -1;
    if (at)
        return at->single_dir || open_single_dir(cage, at) == 0 ? at : NULL;
    if (in && in->fd >= 0) {
        fd = tc_tree_keep(t, tc_resolve_beneath(in->fd, path + strlen(in->path) + 1));
        /* in a private directory it need not exist on the host */
        if (fd < 0 ? !in->single_dir || errno != ENOENT : fstat(fd, &st) < 0)
            return NULL;
    }
    at = &t->items[t->item_count];
    *at = (struct tc_item){.mount = file->mount,
                           .path = path,
                           .fd = fd,
                           .directory = true,
                           .copy = -1,
                           .layers = -1,
                           .uid = st.st_uid,
                           .gid = st.st_gid};
    if (open_single_dir(cage, at) < 0)
        return NULL;
    t->item_count++;
    return at;
}

static int refuse_place(struct tc_cage *cage, const struct tc_item *item, const char *parent)
{
    _autofree_ char *after =
        tc_format(" is granted for writing, but its directory %s belongs to the cage", parent);
    return tc_tree_refuse(
        cage, item->mount, 0,
        "grant it in a separate directory: { path = \"/data/name\", from = \"…\" }", "",
        after ? after : " is in a directory of the cage");
}

/* Selects the directory in which the tool sees the file. */
static int place(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_trees *t = cage->trees;
    _autofree_ char *parent = tc_path_parent(item->path);
    char *path = parent ? tc_arena_format(&t->arena, "%s", parent) : NULL;
    const struct tc_item *in = tc_tree_holder(t, item->path);
    if (!path)
        return tc_single_file_fail(cage, item, ENOMEM, "granted path ", " cannot be placed");
    if (in && in->writable) {
        item->part = shown_by(in, item, path);
        return item->part ? 0
                          : tc_single_file_fail(cage, item, 0, "",
                                                " is in a writable directory that already shows "
                                                "another file at that path");
    }
    if (check_writable(cage, item) < 0)
        return -1;
    if (!in && tc_path_within("/tmp", path)) {
        item->copy = path[4] ? tc_tree_own_directory(t, t->storage, path + 5) : t->storage;
    } else if (tc_tree_reserved(cage->plan, path) || tc_system_path_find(path) ||
               tc_system_path_below(path)) {
        return refuse_place(cage, item, path);
    } else {
        const struct tc_item *single_dir = single_dir_at(cage, item, path);
        item->copy = single_dir ? single_dir->copy : -1;
    }
    if (item->copy < 0 && errno == ELOOP)
        return tc_tree_refuse_link(cage, item);
    return item->copy >= 0 ? 0
                           : tc_single_file_fail(cage, item, errno, "the private directory of ",
                                                 " cannot be made");
}

int tc_tree_single_files(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    size_t files = t->item_count;
    for (size_t i = 0; i < files; i++)
        if (t->items[i].name && place(cage, &t->items[i]) < 0)
            return -1;
    if (t->item_count != files)
        tc_tree_sort(t);
    return 0;
}
