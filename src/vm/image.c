/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A Firecracker snapshot as one file. Firecracker writes two: the guest's memory, which Firecracker
 * maps when it restores the snapshot, and a small file with the remaining state. toolcage stores a
 * snapshot under one name with one seal. So the state is appended to the memory, followed by a mark
 * and the state's length. Firecracker maps only the memory part. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vm/vm.h"

enum { STATE_MAX = 16 << 20, PIECE = 256 << 10 };

static const char mark[8] = "TCVM\0\0\0\1";

struct tail {
    char mark[sizeof(mark)];
    uint64_t state; /* bytes */
};

static off_t memory_size(const struct tc_vm_options *o)
{
    return (off_t)o->memory_mib << 20;
}

/* ---- to the file ---- */

/* Copies the bytes [at, end) to the same offsets. */
static bool copy_range(int to, int from, off_t at, off_t end)
{
    static char bytes[PIECE];
    while (at < end) {
        size_t some = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t n = pread(from, bytes, some, at);
        if (n <= 0 || lseek(to, at, SEEK_SET) < 0 || tc_write_all(to, bytes, (size_t)n) < 0)
            return false;
        at += n;
    }
    return true;
}

/* Copies the memory; leaves its holes out. */
static bool copy_memory(int to, int from, off_t size)
{
    off_t at = 0, end;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < size) {
        if ((end = lseek(from, at, SEEK_HOLE)) < 0 || !copy_range(to, from, at, end))
            return false;
        at = end;
    }
    return at >= size || errno == ENXIO;
}

bool tc_vm_image_write(const struct tc_vm_options *o, int state, int memory)
{
    off_t size = memory_size(o);
    struct tail tail = {.state = 0};
    struct stat st, whole;
    _autobuf_ struct tc_buf text = {.max = STATE_MAX};
    if (fstat(memory, &whole) < 0 || whole.st_size != size || fstat(state, &st) < 0 ||
        lseek(state, 0, SEEK_SET) < 0 || tc_read_all(state, &text) < 0 || !text.len)
        return false;
    memcpy(tail.mark, mark, sizeof(mark));
    tail.state = text.len;
    return copy_memory(o->keep, memory, size) && lseek(o->keep, size, SEEK_SET) == size &&
           tc_write_all(o->keep, text.data, text.len) == 0 &&
           tc_write_all(o->keep, &tail, sizeof(tail)) == 0;
}

/* ---- from the file ---- */

/* The offset of the state in the file; -1: not a snapshot of a VM with this memory size. */
static off_t find_state(const struct tc_vm_options *o, int fd, size_t *ret_len)
{
    struct stat st;
    struct tail tail;
    off_t end = fstat(fd, &st) == 0 ? st.st_size - (off_t)sizeof(tail) : -1;
    errno = EBADMSG;
    if (end < 0 || pread(fd, &tail, sizeof(tail), end) != (ssize_t)sizeof(tail) ||
        memcmp(tail.mark, mark, sizeof(mark)) != 0 || !tail.state || tail.state > STATE_MAX ||
        end - (off_t)tail.state != memory_size(o)) {
        errno = EBADMSG;
        return -1;
    }
    *ret_len = tail.state;
    return end - (off_t)tail.state;
}

int tc_vm_image_state(const struct tc_vm_options *o)
{
    size_t len = 0;
    _autobuf_ struct tc_buf text = {.max = STATE_MAX};
    _autofd_ int from = open(o->from, O_RDONLY | O_CLOEXEC);
    off_t at = from < 0 ? -1 : find_state(o, from, &len);
    char *room = at < 0 ? NULL : tc_buf_room(&text, len);
    if (!room || pread(from, room, len, at) != (ssize_t)len)
        return -1;
    _autofd_ int fd = tc_memfd("state", room, len);
    return fd < 0 ? -1 : dup(fd); /* unlike tc_memfd()'s, inherited by the VMM */
}
