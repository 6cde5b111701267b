/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/untouched.h"

#include <time.h>

int tc_untouched_take(struct tc_untouched *r, int fd)
{
    r->rested = false;
    return fstat(fd, &r->was) < 0 || fstatfs(fd, &r->space) < 0 ? -1 : 0;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

void tc_untouched_note(struct tc_untouched *r)
{
    struct timespec now;
    r->rested = clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && before(&r->was.st_ctim, &now);
}

static bool at(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Creating and removing a name changes the directory's times, and so does any change of the
 * directory itself; an unnamed file uses space. */
bool tc_untouched_still(const struct tc_untouched *r, int fd)
{
    const struct stat *was = &r->was;
    struct stat st;
    struct statfs space;
    return r->rested && fstat(fd, &st) == 0 && fstatfs(fd, &space) == 0 &&
           space.f_bfree == r->space.f_bfree && space.f_ffree == r->space.f_ffree &&
           st.st_mode == was->st_mode && st.st_uid == was->st_uid && st.st_gid == was->st_gid &&
           st.st_nlink == was->st_nlink && st.st_size == was->st_size &&
           at(&st.st_ctim, &was->st_ctim) && at(&st.st_mtim, &was->st_mtim) &&
           at(&st.st_atim, &was->st_atim);
}
