/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "tree/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/sys.h"
#include "linux/mounts.h"

int tc_box_mount_attach(int root, const struct tc_box_mount *m)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    if (m->dev == 0)
        return tc_move_mount(m->fd, root, m->path);
    _autofd_ int target = tc_openat2(root, m->path, &how);
    if (target < 0 || fstat(target, &st) < 0)
        return -1;
    if (st.st_dev != m->dev || st.st_ino != m->ino) {
        errno = ESTALE;
        return -1;
    }
    return tc_move_mount(m->fd, target, "");
}
