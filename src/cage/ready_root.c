/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/ready_root.h"

#include <fcntl.h>
#include <time.h>
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
    if (root < 0 || tc_move_mount(tmp, root, "tmp") < 0 || fstat(tmp, &made.was) < 0 ||
        fstatfs(tmp, &made.space) < 0)
        return;
    made.root = TAKE_FD(root);
    made.tmp = TAKE_FD(tmp);
    *r = made;
}

int tc_ready_root_lend(struct tc_ready_root *r)
{
    int fd = r->root < 0 ? -1 : fcntl(r->tmp, F_DUPFD_CLOEXEC, 0);
    r->lent = fd >= 0;
    return fd;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

void tc_ready_root_note(struct tc_ready_root *r)
{
    struct timespec now;
    r->rested = clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && before(&r->was.st_ctim, &now);
}

static bool at(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A name that came and went moves the directory's times, and so does any change of the directory
 * itself; a file without a name takes its place. */
bool tc_ready_root_untouched(const struct tc_ready_root *r)
{
    const struct stat *was = &r->was;
    struct stat st;
    struct statfs space;
    return r->rested && fstat(r->tmp, &st) == 0 && fstatfs(r->tmp, &space) == 0 &&
           space.f_bfree == r->space.f_bfree && space.f_ffree == r->space.f_ffree &&
           st.st_mode == was->st_mode && st.st_uid == was->st_uid && st.st_gid == was->st_gid &&
           st.st_nlink == was->st_nlink && st.st_size == was->st_size &&
           at(&st.st_ctim, &was->st_ctim) && at(&st.st_mtim, &was->st_mtim) &&
           at(&st.st_atim, &was->st_atim);
}
