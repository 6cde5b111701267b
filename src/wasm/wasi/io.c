/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads and writes files and streams, and returns an open file's state. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/wasi/guest.h"

uint32_t tc_wasi_vectors(const struct tc_wasi *w, uint64_t at, uint64_t count, struct iovec *ret)
{
    uint64_t total = 0;
    if (count > TC_WASI_VECTORS)
        return WASI_INVAL;
    const uint8_t *from = tc_guest(w, at, count * WASI_CIOVEC_SIZE);
    for (uint64_t i = 0; from && i < count; i++, from += WASI_CIOVEC_SIZE) {
        uint32_t length = tc_get32(from + 4);
        ret[i] = (struct iovec){tc_guest(w, tc_get32(from), length), length};
        total += length;
        if (!ret[i].iov_base)
            return WASI_FAULT;
        if (total > INT32_MAX)
            return WASI_INVAL;
    }
    return from ? WASI_OK : WASI_FAULT;
}

typedef ssize_t transfer(int fd, const struct iovec *vectors, int count, off_t at);

static ssize_t read_vectors(int fd, const struct iovec *vectors, int count, off_t at)
{
    return at < 0 ? readv(fd, vectors, count) : preadv(fd, vectors, count, at);
}

static ssize_t give(int fd, const struct iovec *vectors, int count, off_t at)
{
    return at < 0 ? writev(fd, vectors, count) : pwritev(fd, vectors, count, at);
}

/* How much of a stream is available depends on timing, so a deterministic guest gets all that it
 * asked for, or everything to the end. */
static ssize_t move_whole(int fd, struct iovec *at, int count, transfer *how)
{
    ssize_t sum = 0;
    while (count) {
        ssize_t n = how(fd, at, count, -1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sum ? sum : n;
        sum += n;
        for (; count && (size_t)n >= at->iov_len; at++, count--)
            n -= (ssize_t)at->iov_len;
        if (count) {
            at->iov_base = (char *)at->iov_base + n;
            at->iov_len -= (size_t)n;
        }
    }
    return sum;
}

/* An offset of -1 is the current position. */
static uint32_t move(struct tc_wasi *w, const uint64_t *a, uint64_t rights, int64_t at,
                     uint64_t ret, transfer *how)
{
    struct iovec vectors[TC_WASI_VECTORS];
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], rights, &error);
    if (!fd || (error = tc_wasi_vectors(w, a[1], a[2], vectors)))
        return error;
    if (!tc_guest(w, ret, 4))
        return WASI_FAULT;
    ssize_t n = w->fixed && fd->kind == TC_WASI_STREAM ? move_whole(fd->fd, vectors, (int)a[2], how)
                                                       : how(fd->fd, vectors, (int)a[2], at);
    if (n < 0)
        return tc_wasi_error(errno);
    w->cost += (uint64_t)n;
    (void)tc_guest_put32(w, ret, (uint32_t)n);
    return WASI_OK;
}

uint32_t tc_wasi_fd_read(struct tc_wasi *w, const uint64_t *a)
{
    return move(w, a, WASI_R_READ, -1, a[3], read_vectors);
}

uint32_t tc_wasi_fd_write(struct tc_wasi *w, const uint64_t *a)
{
    return move(w, a, WASI_R_WRITE, -1, a[3], give);
}

uint32_t tc_wasi_fd_pread(struct tc_wasi *w, const uint64_t *a)
{
    return (int64_t)a[3] < 0
               ? WASI_INVAL
               : move(w, a, WASI_R_READ | WASI_R_SEEK, (int64_t)a[3], a[4], read_vectors);
}

uint32_t tc_wasi_fd_pwrite(struct tc_wasi *w, const uint64_t *a)
{
    return (int64_t)a[3] < 0 ? WASI_INVAL
                             : move(w, a, WASI_R_WRITE | WASI_R_SEEK, (int64_t)a[3], a[4], give);
}

static uint32_t seek(struct tc_wasi *w, uint64_t number, uint64_t right, int64_t by, int whence,
                     uint64_t ret)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, number, 0, &error);
    if (!fd)
        return error;
    if (fd->kind == TC_WASI_STREAM)
        return WASI_SPIPE;
    if (!(fd->rights & right))
        return WASI_NOTCAPABLE;
    if (!tc_guest(w, ret, 8))
        return WASI_FAULT;
    off_t at = lseek(fd->fd, by, whence);
    return at < 0 || !tc_guest_put64(w, ret, (uint64_t)at) ? tc_wasi_error(errno) : WASI_OK;
}

uint32_t tc_wasi_fd_seek(struct tc_wasi *w, const uint64_t *a)
{
    static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    if (a[2] >= TC_COUNT(whence))
        return WASI_INVAL;
    return seek(w, a[0], WASI_R_SEEK, (int64_t)a[1], whence[a[2]], a[3]);
}

uint32_t tc_wasi_fd_tell(struct tc_wasi *w, const uint64_t *a)
{
    return seek(w, a[0], WASI_R_TELL, 0, SEEK_CUR, a[1]);
}

uint32_t tc_wasi_fd_sync(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_SYNC, &error);
    return fd ? tc_wasi_answer(fsync(fd->fd)) : error;
}

uint32_t tc_wasi_fd_datasync(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_DATASYNC, &error);
    return fd ? tc_wasi_answer(fdatasync(fd->fd)) : error;
}

/* Advice is checked, and ignored. */
uint32_t tc_wasi_fd_advise(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_ADVISE, &error);
    if (!fd)
        return error;
    return a[3] > 5 || (int64_t)a[1] < 0 || (int64_t)a[2] < 0 ? WASI_INVAL : WASI_OK;
}

uint32_t tc_wasi_fd_allocate(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_ALLOCATE, &error);
    if (!fd)
        return error;
    return fd->writable ? tc_wasi_answer(fallocate(fd->fd, 0, (off_t)a[1], (off_t)a[2]))
                        : WASI_ROFS;
}

uint32_t tc_wasi_fd_filestat_set_size(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_SIZE, &error);
    if (!fd)
        return error;
    return fd->writable ? tc_wasi_answer(ftruncate(fd->fd, (off_t)a[1])) : WASI_ROFS;
}
