/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/ready_root.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "linux/mounts.h"

void tc_ready_root_drop(struct tc_ready_root *r)
{
    if (r->root >= 0)
        (void)close(r->root);
    if (r->tmp >= 0)
        (void)close(r->tmp);
    *r = TC_READY_ROOT_NONE;
}

void tc_ready_root_make(struct tc_ready_root *r, uint64_t serial, const struct tc_limits *limits)
{
    struct tc_ready_root made = {.serial = serial};
    tc_ready_root_drop(r);
    _autofd_ int tmp = tc_process_tmp(limits), root = tmp < 0 ? -1 : tc_root_copy(serial);
    if (root < 0 || tc_move_mount(tmp, root, "tmp") < 0 || tc_untouched_take(&made.rest, tmp) < 0)
        return;
    made.root = TAKE_FD(root);
    made.tmp = TAKE_FD(tmp);
    *r = made;
}

int tc_ready_root_give(struct tc_ready_root *r)
{
    int fd = r->root < 0 ? -1 : fcntl(r->tmp, F_DUPFD_CLOEXEC, 0);
    r->given = fd >= 0;
    return fd;
}
