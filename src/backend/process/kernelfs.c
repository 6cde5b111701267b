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

#include "backend/process/process.h"
#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202 /* linux/magic.h lacks it */
#endif

static const char *const types[] = {
    "proc",     "sysfs",       "cgroup",  "cgroup2",    "debugfs",   "tracefs", "securityfs",
    "configfs", "bpf",         "fusectl", "pstore",     "efivarfs",  "mqueue",  "devpts",
    "devtmpfs", "binfmt_misc", "nsfs",    "rpc_pipefs", "selinuxfs", "resctrl"};

bool tc_process_kernel_fs(int fd)
{
    static const unsigned long magics[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC,       MQUEUE_MAGIC,        NSFS_MAGIC};
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return false;
    for (size_t i = 0; i < TC_COUNT(magics); i++)
        if ((unsigned long)s.f_type == magics[i])
            return true;
    return false;
}

static bool is_kernel_type(const char *type, size_t len)
{
    for (size_t i = 0; i < TC_COUNT(types); i++)
        if (strlen(types[i]) == len && memcmp(types[i], type, len) == 0)
            return true;
    return false;
}

/* mountinfo writes blanks and the like as three octal digits. In place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; to++) {
        unsigned value;
        if (at[0] == '\\' && sscanf(at + 1, "%3o", &value) == 1) {
            *to = (char)value;
            at += 4;
        } else {
            *to = *at++;
        }
    }
    *to = '\0';
}

/* The mount point of a line when its file system is one of the kernel's; cuts the line. */
static char *kernel_mount(char *line)
{
    char *point = line, *dash = strstr(line, " - ");
    if (!dash || !is_kernel_type(dash + 3, strcspn(dash + 3, " ")))
        return NULL;
    for (int field = 1; field < 5; field++) {
        point = strchr(point, ' ');
        if (!point++)
            return NULL;
    }
    point[strcspn(point, " ")] = '\0';
    unescape(point);
    return point;
}

/* An empty object over one of them. */
static int cover(struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(item->fd, relative);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0; /* covered on the host, too */
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    char *path = tc_arena_format(&p->arena, "%s/%s", item->path, relative);
    int over = S_ISDIR(st.st_mode) ? p->host->mask_dir : p->host->mask_file;
    int tree = tc_process_keep(p, tc_tree_open(over, &(struct tc_tree){.userns = -1}, NULL));
    struct tc_box_mount *m =
        tree < 0 || !path ? NULL : tc_process_mount(p, tree, path, TC_LANDLOCK_READ_TREE);
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
    char link[32], root[PATH_MAX];
    _autofree_ char *text = strdup(mounts);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", item->fd);
    ssize_t n = readlink(link, root, sizeof(root) - 1);
    if (!text || n < 0)
        return -1;
    root[n] = '\0';
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const char *point = kernel_mount(line);
        if (point && strcmp(point, root) != 0 && tc_path_within(root, point) &&
            cover(cage, item, point + n + (root[n - 1] != '/')) < 0)
            return -1;
    }
    return 0;
}
