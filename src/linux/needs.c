/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system calls without which no cage can be built. Each is called with arguments that no kernel
 * accepts: one that has the call says so (EINVAL, EBADF, EFAULT), an older kernel or a container's
 * filter answers before it looks. Found here the refusal names the call; found on the way it would
 * name whatever stood there. */
#include "linux/needs.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "base/sys.h"

const char *tc_needs_missing(void)
{
    enum { NO_FLAGS = 0x7fffffff };
    static const struct {
        const char *name;
        long nr, args[5];
    } needed[] = {
        {"clone3", SYS_clone3, {0, 0, 0, 0, 0}},
        {"openat2", SYS_openat2, {-1, 0, 0, 0, 0}},
        {"close_range", SYS_close_range, {1, 0, 0, 0, 0}},
        {"open_tree", SYS_open_tree, {-1, 0, NO_FLAGS, 0, 0}},
        {"move_mount", SYS_move_mount, {-1, 0, -1, 0, NO_FLAGS}},
        {"fsopen", SYS_fsopen, {0, NO_FLAGS, 0, 0, 0}},
        {"fsconfig", SYS_fsconfig, {-1, 0, 0, 0, 0}},
        {"fsmount", SYS_fsmount, {-1, NO_FLAGS, 0, 0, 0}},
        {"mount_setattr", SYS_mount_setattr, {-1, 0, NO_FLAGS, 0, 0}},
        {"execveat", SYS_execveat, {-1, 0, 0, 0, NO_FLAGS}},
        {"memfd_create", SYS_memfd_create, {0, NO_FLAGS, 0, 0, 0}},
    };
    for (size_t i = 0; i < TC_COUNT(needed); i++) {
        const long *a = needed[i].args;
        if (tc_sys(needed[i].nr, a[0], a[1], a[2], a[3], a[4], 0) < 0 &&
            (errno == ENOSYS || errno == EPERM || errno == EACCES))
            return needed[i].name;
    }
    return NULL;
}
