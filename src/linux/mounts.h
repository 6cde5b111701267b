/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Detached mounts: made here as file descriptors, attached later by the cage in its namespace. */
#ifndef TC_LINUX_MOUNTS_H
#define TC_LINUX_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* A detached copy of the tree at an O_PATH descriptor, submounts included, always without set-id
 * and devices (unless `device`), private to changes outside. `userns` is the id mapping, or -1. */
struct tc_tree {
    bool writable;
    bool device;
    int userns;
};
/* -1 with errno; *ret_step (may be NULL) then names the failed step: "open_tree",
 * "mount_setattr" or "idmap". */
int tc_tree_open(int path_fd, const struct tc_tree *how, const char **ret_step);

/* A detached tmpfs; -1 with errno. */
int tc_tmpfs(int64_t bytes, int64_t inodes, const char *mode, bool executable);

/* Makes the directories of a relative path below dirfd, mode 0755; existing ones are fine. 0, or
 * -1. */
int tc_mkdirs(int dirfd, const char *relative);
/* A new file below dirfd with these bytes, its directories made. 0, or -1. */
int tc_put_file(int dirfd, const char *relative, const void *bytes, unsigned long len,
                unsigned mode);

/* mountinfo writes space, tab, newline and backslash as \ooo. In place. */
void tc_mounts_unescape(char *text);

#endif
