/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File attributes, by fd and by path. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "wasm/wasi/guest.h"

/* Replaces attributes that depend on the host or the time; of a directory also its size and link
 * count. */
static void fix(struct tc_wasi *w, int dir, const char *name, struct stat *st)
{
    if (!w->fixed)
        return;
    st->st_dev = 1;
    st->st_ino = tc_wasi_fixed_number(w, dir, name);
    st->st_atim = st->st_mtim = st->st_ctim =
        (struct timespec){.tv_sec = TC_WASI_EPOCH / TC_WASI_SECOND};
    if (S_ISDIR(st->st_mode)) {
        st->st_nlink = 1;
        st->st_size = 0;
    }
}

static uint32_t put_stat(const struct tc_wasi *w, uint64_t at, const struct stat *st)
{
    uint8_t *to = tc_guest(w, at, WASI_FILESTAT_SIZE);
    const uint64_t values[] = {st->st_dev,
                               st->st_ino,
                               tc_wasi_type(st->st_mode),
                               st->st_nlink,
                               (uint64_t)st->st_size,
                               tc_wasi_ns(st->st_atim),
                               tc_wasi_ns(st->st_mtim),
                               tc_wasi_ns(st->st_ctim)};
    _Static_assert(sizeof(values) == WASI_FILESTAT_SIZE, "one word each");
    if (!to)
        return WASI_FAULT;
    memcpy(to, values, sizeof(values));
    return WASI_OK;
}

uint32_t tc_wasi_fd_filestat_get(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct stat st;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_STAT, &error);
    if (!fd)
        return error;
    if (fstat(fd->fd, &st) < 0)
        return tc_wasi_error(errno);
    fix(w, fd->fd, "", &st);
    return put_stat(w, a[1], &st);
}

uint32_t tc_wasi_path_filestat_get(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    struct stat st;
    uint32_t error = tc_wasi_walk(w,
                                  &(struct tc_wasi_where){.fd = a[0],
                                                          .follow = a[1] & WASI_FOLLOW,
                                                          .path = a[2],
                                                          .length = a[3],
                                                          .rights = WASI_R_STAT_PATH},
                                  &at);
    if (error)
        return error;
    if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return tc_wasi_error(errno);
    fix(w, at.dir, at.name, &st);
    return at.directory && !S_ISDIR(st.st_mode) ? WASI_NOTDIR : put_stat(w, a[4], &st);
}

static bool read_time(uint64_t value, bool given, bool now, struct timespec *ret)
{
    *ret = (struct timespec){.tv_nsec = UTIME_OMIT};
    if (now)
        ret->tv_nsec = UTIME_NOW;
    else if (given)
        *ret = (struct timespec){.tv_sec = (time_t)(value / TC_WASI_SECOND),
                                 .tv_nsec = (long)(value % TC_WASI_SECOND)};
    return !(given && now);
}

static bool read_times(uint64_t accessed, uint64_t modified, uint64_t flags, struct timespec ret[2])
{
    return read_time(accessed, flags & WASI_ATIM, flags & WASI_ATIM_NOW, &ret[0]) &&
           read_time(modified, flags & WASI_MTIM, flags & WASI_MTIM_NOW, &ret[1]) && flags < 16;
}

uint32_t tc_wasi_fd_filestat_set_times(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    struct timespec times[2];
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_TIMES, &error);
    if (!fd)
        return error;
    if (!read_times(a[1], a[2], a[3], times))
        return WASI_INVAL;
    return fd->writable ? tc_wasi_answer(futimens(fd->fd, times)) : WASI_ROFS;
}

uint32_t tc_wasi_path_filestat_set_times(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    struct timespec times[2];
    uint32_t error = tc_wasi_walk(w,
                                  &(struct tc_wasi_where){.fd = a[0],
                                                          .follow = a[1] & WASI_FOLLOW,
                                                          .path = a[2],
                                                          .length = a[3],
                                                          .rights = WASI_R_TIMES_PATH,
                                                          .change = true},
                                  &at);
    if (error)
        return error;
    if (!read_times(a[4], a[5], a[6], times))
        return WASI_INVAL;
    return tc_wasi_answer(utimensat(at.dir, at.name, times, AT_SYMLINK_NOFOLLOW));
}
