/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File systems that are views of the kernel and not data. A granted directory may hold some (the
 * /proc of a chroot, say), and a link or a bind mount may lead to one. In a cage they would show
 * the host's processes, message queues and devices, so they are covered or refused. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
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
        return errno == ENOSYS ? 0 : -1; /* a program's file system may lack it */
    for (size_t i = 0; i < count; i++)
        if ((unsigned long)s.f_type == magics[i])
            return 1;
    return 0;
}

int tc_process_kernel_fs(int fd)
{
    static const unsigned long magics[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC,       MQUEUE_MAGIC,        NSFS_MAGIC};
    return is_one_of(fd, magics, TC_COUNT(magics));
}

bool tc_process_remote_fs(int fd)
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

static bool is_kernel_type(const char *type, size_t len)
{
    return is_named(types, TC_COUNT(types), type, len);
}

/* Of the same file systems as in tc_process_remote_fs(), by name. */
static bool is_local_type(const char *type, size_t len)
{
    static const char *const local[] = {"ext2",  "ext3",  "ext4",   "xfs",       "btrfs",  "f2fs",
                                        "tmpfs", "ramfs", "rootfs", "hugetlbfs", "overlay"};
    return is_named(local, TC_COUNT(local), type, len) || is_kernel_type(type, len);
}

/* The fifth field of a line of mountinfo, not cut off. NULL: it has none. */
static const char *mount_point(const char *line)
{
    for (int field = 1; line && field < 5; field++) {
        line = strchr(line, ' ');
        line = line ? line + 1 : NULL;
    }
    return line;
}

/* Below these no path is granted, and systemd lays automounts there. */
static bool is_kernel_place(const char *line)
{
    const char *point = mount_point(line);
    return point && (tc_startswith(point, "/proc/") || tc_startswith(point, "/sys/") ||
                     tc_startswith(point, "/dev/"));
}

bool tc_process_mounts_local(const char *mountinfo)
{
    for (const char *line = mountinfo, *end; *line; line = end + (*end == '\n')) {
        end = strchrnul(line, '\n');
        const char *type = strstr(line, " - ");
        if (!type || type > end)
            return false;
        type += 3;
        if (!is_local_type(type, strcspn(type, " \n")) && !is_kernel_place(line))
            return false;
    }
    return *mountinfo != '\0';
}

/* The mount point of a line when its file system is one of the kernel's; cuts the line. */
static char *kernel_mount(char *line)
{
    const char *dash = strstr(line, " - "), *at = mount_point(line);
    if (!dash || !at || !is_kernel_type(dash + 3, strcspn(dash + 3, " ")))
        return NULL;
    char *point = line + (at - line);
    point[strcspn(point, " ")] = '\0';
    tc_mounts_unescape(point);
    return point;
}

/* What a mount point within a root is called there. */
static const char *below(const char *root, const char *point)
{
    size_t n = strlen(root);
    return point + n + (root[n - 1] != '/');
}

/* The mount point of a line into `point` (PATH_MAX bytes). Is it one strictly below that root? */
static bool is_below(const char *root, const char *line, char *point)
{
    const char *at = mount_point(line);
    size_t length = at ? strcspn(at, " \n") : 0;
    if (!at || length >= PATH_MAX)
        return false;
    memcpy(point, at, length);
    point[length] = '\0';
    tc_mounts_unescape(point);
    return strcmp(point, root) != 0 && tc_path_within(root, point);
}

int tc_process_mount_below(const struct tc_item *item, const char *mounts, char **ret)
{
    char root[PATH_MAX], point[PATH_MAX];
    *ret = NULL;
    if (tc_resolve_name(item->fd, root) < 0)
        return -1;
    for (const char *line = mounts, *end; line && *line && !*ret; line = end + (*end == '\n')) {
        end = strchrnul(line, '\n');
        const char *type = strstr(line, " - ");
        if (!type || type > end || is_kernel_type(type + 3, strcspn(type + 3, " \n")))
            continue;
        if (is_below(root, line, point) && !(*ret = strdup(below(root, point))))
            return -1;
    }
    return 0;
}

int tc_trees_mounted_below(struct tc_trees *t, int fd)
{
    char root[PATH_MAX], point[PATH_MAX];
    const char *line = tc_trees_mounts(t);
    if (!line || tc_resolve_name(fd, root) < 0)
        return -1;
    for (const char *end; *line; line = end + (*end == '\n')) {
        end = strchrnul(line, '\n');
        if (is_below(root, line, point))
            return 1;
    }
    return 0;
}

/* An empty object over one of them. */
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
    int over = S_ISDIR(st.st_mode) ? t->host->mask_dir : t->host->mask_file;
    int tree = tc_process_keep(t, tc_tree_open(over, &(struct tc_tree){.userns = -1}, NULL));
    struct tc_box_mount *m =
        tree < 0 || !path ? NULL : tc_process_mount(t, tree, path, TC_LANDLOCK_READ_TREE);
    if (!m)
        return -1;
    m->no_rule = true;
    if (item->writable) { /* below what is read-only an overlay may have hidden it already */
        m->dev = st.st_dev;
        m->ino = st.st_ino;
    }
    return 0;
}

int tc_process_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts)
{
    char root[PATH_MAX];
    _autofree_ char *text = strdup(mounts);
    if (!text || tc_resolve_name(item->fd, root) < 0)
        return -1;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const char *point = kernel_mount(line);
        if (point && strcmp(point, root) != 0 && tc_path_within(root, point) &&
            cover(cage, item, below(root, point)) < 0)
            return -1;
    }
    return 0;
}
