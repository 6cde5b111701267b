/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File systems that show the kernel instead of data (proc, sysfs, cgroup, ...). One may be mounted
 * below a granted directory (the /proc of a chroot), and a link or bind mount may lead to one. In a
 * cage it would show the host's processes, message queues and devices, so it is covered or refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"
#include "tree/tree.h"

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202 /* linux/magic.h lacks it */
#endif

static const char *const types[] = {
    "proc",     "sysfs",       "cgroup",  "cgroup2",    "debugfs",   "tracefs", "securityfs",
    "configfs", "bpf",         "fusectl", "pstore",     "efivarfs",  "mqueue",  "devpts",
    "devtmpfs", "binfmt_misc", "nsfs",    "rpc_pipefs", "selinuxfs", "resctrl"};

static int is_one_of(int fd, const unsigned long *magics, size_t count)
{
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return errno == ENOSYS ? 0 : -1; /* a FUSE file system may lack it */
    for (size_t i = 0; i < count; i++)
        if ((unsigned long)s.f_type == magics[i])
            return 1;
    return 0;
}

int tc_tree_kernel_fs(int fd)
{
    static const unsigned long magics[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC,       MQUEUE_MAGIC,        NSFS_MAGIC};
    return is_one_of(fd, magics, TC_COUNT(magics));
}

bool tc_tree_remote_fs(int fd)
{
    static const unsigned long local[] = {EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                          F2FS_SUPER_MAGIC,     TMPFS_MAGIC,     RAMFS_MAGIC,
                                          OVERLAYFS_SUPER_MAGIC};
    return is_one_of(fd, local, TC_COUNT(local)) != 1;
}

static bool is_named(const char *const *names, size_t count, const char *type, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], type, len) == 0)
            return true;
    return false;
}

/* A line of mountinfo. */
struct line {
    char *point; /* unescaped and owned; NULL: the line has none */
    const char *type;
    size_t length; /* of the type; 0: the line has none */
};

static void line_done(struct line *l)
{
    free(l->point);
    *l = (struct line){0};
}

/* Reads the line at *at and advances *at to the next one. 1, 0 at the end, or -1 with errno. */
static int next_line(const char **at, struct line *l)
{
    const char *line = *at, *point = line;
    line_done(l);
    if (!line || !*line)
        return 0;
    const char *end = strchrnul(line, '\n');
    const char *dash = memmem(line, (size_t)(end - line), " - ", 3);
    for (int field = 1; point && field < 5; field++) {
        point = memchr(point, ' ', (size_t)(end - point));
        point = point ? point + 1 : NULL;
    }
    l->type = dash ? dash + 3 : end;
    l->length = strcspn(l->type, " \n");
    *at = end + (*end == '\n');
    if (!point)
        return 1;
    l->point = strndup(point, strcspn(point, " \n"));
    if (!l->point)
        return -1;
    tc_mounts_unescape(l->point);
    return 1;
}

static bool is_kernel_type(const struct line *l)
{
    return is_named(types, TC_COUNT(types), l->type, l->length);
}

/* Is the type local, as in tc_tree_remote_fs(), which tests open files? */
static bool is_local_type(const struct line *l)
{
    static const char *const local[] = {"ext2",  "ext3",  "ext4",   "xfs",       "btrfs",  "f2fs",
                                        "tmpfs", "ramfs", "rootfs", "hugetlbfs", "overlay"};
    return is_named(local, TC_COUNT(local), l->type, l->length) || is_kernel_type(l);
}

/* Is the mount point below /proc, /sys or /dev? No path there can be granted, so its type does not
 * matter; systemd has automounts there. */
static bool is_kernel_place(const struct line *l)
{
    return l->point && (tc_startswith(l->point, "/proc/") || tc_startswith(l->point, "/sys/") ||
                        tc_startswith(l->point, "/dev/"));
}

bool tc_tree_mounts_local(const char *mountinfo)
{
    _auto_(line_done) struct line l = {0};
    int more = *mountinfo ? next_line(&mountinfo, &l) : -1;
    while (more > 0 && l.length && (is_local_type(&l) || is_kernel_place(&l)))
        more = next_line(&mountinfo, &l);
    return more == 0;
}

/* The mount point relative to the root, if strictly below it; borrowed. NULL: it is not. */
static const char *below(const char *root, const struct line *l)
{
    size_t n = strlen(root);
    bool within = l->point && strcmp(l->point, root) != 0 && tc_path_within(root, l->point);
    return within ? l->point + n + (root[n - 1] != '/') : NULL;
}

int tc_tree_mount_below(const struct tc_item *item, const char *mounts, char **ret)
{
    _auto_(line_done) struct line l = {0};
    char root[PATH_MAX];
    int more;
    *ret = NULL;
    if (tc_resolve_name(item->fd, root) < 0)
        return -1;
    while ((more = next_line(&mounts, &l)) > 0) {
        const char *name = l.length && !is_kernel_type(&l) ? below(root, &l) : NULL;
        if (name)
            return (*ret = strdup(name)) ? 0 : -1;
    }
    return more;
}

int tc_trees_mounted_below(struct tc_trees *t, int fd)
{
    _auto_(line_done) struct line l = {0};
    char root[PATH_MAX];
    const char *at = tc_trees_mounts(t);
    int more = !at || tc_resolve_name(fd, root) < 0 ? -1 : next_line(&at, &l);
    while (more > 0 && !below(root, &l))
        more = next_line(&at, &l);
    return more;
}

/* Mounts an empty object over a kernel file system. */
static int cover(struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    struct tc_trees *t = cage->trees;
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(item->fd, relative);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0; /* covered on the host, too */
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    char *path = tc_arena_format(&t->arena, "%s/%s", item->path, relative);
    struct tc_init_mount *m = path ? tc_tree_mask(t, S_ISDIR(st.st_mode), path) : NULL;
    if (!m)
        return -1;
    if (item->writable) { /* in a read-only tree, an overlay may have hidden it already */
        m->dev = st.st_dev;
        m->ino = st.st_ino;
    }
    return 0;
}

int tc_tree_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts)
{
    _auto_(line_done) struct line l = {0};
    char root[PATH_MAX];
    int more = tc_resolve_name(item->fd, root) < 0 ? -1 : next_line(&mounts, &l);
    for (; more > 0; more = next_line(&mounts, &l)) {
        const char *relative = is_kernel_type(&l) ? below(root, &l) : NULL;
        if (relative && cover(cage, item, relative) < 0)
            return -1;
    }
    return more;
}
