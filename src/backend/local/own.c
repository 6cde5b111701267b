/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a cage owns until it goes: descriptors, and the mounts that its first process attaches. */
#include <errno.h>

#include "backend/local/local.h"

int tc_process_keep(struct tc_process_cage *p, int fd)
{
    int *slot = fd < 0 ? NULL : TC_PUSH(p->fds, p->fd_count);
    if (!slot) {
        int saved = fd < 0 ? errno : ENOMEM;
        if (fd >= 0)
            (void)close(fd);
        errno = saved;
        return -1;
    }
    return *slot = fd;
}

struct tc_box_mount *tc_process_mount(struct tc_process_cage *p, int fd, const char *path,
                                      enum tc_landlock_kind rights)
{
    struct tc_box_mount *m = TC_PUSH(p->mounts, p->mount_count);
    if (m)
        *m = (struct tc_box_mount){.fd = fd, .path = path[1] ? path + 1 : ".", .rights = rights};
    return m;
}
