/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading a directory. Its cookies are the file system's own. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wasm/wasi/guest.h"

struct entry { /* of the kernel's */
    uint64_t ino;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

enum { BATCH = 8192 };

/* What is left of the guest's buffer, and what went into it. */
struct room {
    uint8_t *at;
    size_t left, used;
};

static void add(struct room *room, const void *bytes, size_t length)
{
    size_t n = length < room->left ? length : room->left;
    memcpy(room->at, bytes, n);
    room->at += n;
    room->left -= n;
    room->used += n;
}

static uint8_t type_of(uint8_t type)
{
    return tc_wasi_type((unsigned)type << 12); /* DT_* are the bits of a mode */
}

/* The last one may be cut: then the buffer is full, and the guest comes again. */
static void add_entry(struct room *room, const struct entry *e)
{
    uint8_t head[WASI_DIRENT_SIZE] = {0};
    uint64_t next = (uint64_t)e->next;
    uint32_t length = (uint32_t)strlen(e->name);
    memcpy(head, &next, sizeof(next));
    memcpy(head + 8, &e->ino, sizeof(e->ino));
    memcpy(head + 16, &length, sizeof(length));
    head[20] = type_of(e->type);
    add(room, head, sizeof(head));
    add(room, e->name, length);
}

static bool shows(const struct tc_wasi_fd *fd, const char *name)
{
    return !fd->root || !fd->root->only.count || tc_strv_has(&fd->root->only, name);
}

static uint32_t fill(const struct tc_wasi_fd *fd, struct room *room)
{
    char batch[BATCH] __attribute__((aligned(8)));
    long n = 0;
    while (room->left && (n = syscall(SYS_getdents64, fd->fd, batch, sizeof(batch))) > 0)
        for (long at = 0; at < n && room->left;) {
            const struct entry *e = (const struct entry *)(const void *)(batch + at);
            if (shows(fd, e->name))
                add_entry(room, e);
            at += e->length;
        }
    return tc_wasi_answer(n);
}

uint32_t tc_wasi_fd_readdir(struct tc_wasi *w, const uint64_t *a)
{
    uint32_t error;
    const struct tc_wasi_fd *fd = tc_wasi_get(w, a[0], WASI_R_READDIR, &error);
    struct room room = {.at = tc_guest(w, a[1], a[2]), .left = a[2]};
    if (!fd)
        return error;
    if (!room.at || !tc_guest(w, a[4], 4))
        return WASI_FAULT;
    if (fd->root && fd->root->outside)
        return tc_guest_put32(w, a[4], 0) ? WASI_OK : WASI_FAULT;
    if (lseek(fd->fd, (off_t)a[3], SEEK_SET) < 0)
        return tc_wasi_error(errno);
    error = fill(fd, &room);
    if (error)
        return error;
    (void)tc_guest_put32(w, a[4], (uint32_t)room.used);
    return WASI_OK;
}
