/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/mounts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"

static int fail_at(const char *step, const char **ret_step)
{
    if (ret_step)
        *ret_step = step;
    return -1;
}

int tc_tree_open(int path_fd, const struct tc_tree *how, const char **ret_step)
{
    _autofd_ int tree = tc_open_tree(
        path_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (tree < 0)
        return fail_at("open_tree", ret_step);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
    attr.attr_set |= how->writable ? 0 : MOUNT_ATTR_RDONLY;
    attr.attr_set |= how->device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
    if (tc_mount_setattr(tree, AT_RECURSIVE, &attr) < 0)
        return fail_at("mount_setattr", ret_step);
    struct mount_attr map = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)how->userns};
    if (how->userns >= 0 && tc_mount_setattr(tree, 0, &map) < 0)
        return fail_at("idmap", ret_step);
    return TAKE_FD(tree);
}

int tc_tmpfs(int64_t bytes, int64_t inodes, const char *mode, bool executable)
{
    char size[24], count[24];
    (void)snprintf(size, sizeof(size), "%lld", (long long)bytes);
    (void)snprintf(count, sizeof(count), "%lld", (long long)inodes);
    const struct {
        const char *key, *value;
    } options[] = {{"size", size}, {"nr_inodes", count}, {"mode", mode}};
    _autofd_ int fs = tc_fsopen("tmpfs");
    if (fs < 0)
        return -1;
    for (size_t i = 0; i < TC_COUNT(options); i++)
        if (tc_fsconfig(fs, FSCONFIG_SET_STRING, options[i].key, options[i].value) < 0)
            return -1;
    if (tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    return tc_fsmount(fs,
                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (executable ? 0 : MOUNT_ATTR_NOEXEC));
}

int tc_mkdirs(int dirfd, const char *relative)
{
    char path[PATH_MAX];
    size_t n = strlen(relative);
    if (n >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, relative, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char kept = path[i];
        path[i] = '\0';
        if (mkdirat(dirfd, path, 0755) < 0 && errno != EEXIST)
            return -1;
        path[i] = kept;
    }
    return 0;
}

int tc_put_file(int dirfd, const char *relative, const void *bytes, unsigned long len,
                unsigned mode)
{
    const char *slash = strrchr(relative, '/');
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    _autofd_ int fd = openat(dirfd, relative, flags, mode);
    if (fd < 0 && errno == ENOENT && slash) {
        char parent[PATH_MAX];
        if ((size_t)(slash - relative) >= sizeof(parent)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(parent, relative, (size_t)(slash - relative));
        parent[slash - relative] = '\0';
        if (tc_mkdirs(dirfd, parent) < 0)
            return -1;
        fd = openat(dirfd, relative, flags, mode);
    }
    return fd < 0 ? -1 : tc_write_all(fd, bytes, len);
}

void tc_mounts_unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        unsigned byte;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &byte) == 1 &&
            strspn(from + 1, "01234567") >= 3) {
            *to++ = (char)byte;
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}
