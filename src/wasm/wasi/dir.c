/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads directories. The cookies are the file system's. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "wasm/wasi/guest.h"

struct entry { /* linux_dirent64 */
    uint64_t ino;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

enum { BATCH = 8192 };

/* The rest of the guest's buffer, and the bytes already used. */
struct room {
    uint8_t *at;
    size_t left, used;
};

static void add_bytes(struct room *room, const void *bytes, size_t length)
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

struct head {
    uint64_t next, ino;
    uint8_t type; /* DT_* */
};

/* The last entry may be truncated: the buffer is then full, and the guest calls again. */
static void add_entry(struct room *room, const struct head *h, const char *name)
{
    uint8_t head[WASI_DIRENT_SIZE] = {0};
    uint32_t length = (uint32_t)strlen(name);
    memcpy(head, &h->next, sizeof(h->next));
    memcpy(head + 8, &h->ino, sizeof(h->ino));
    memcpy(head + 16, &length, sizeof(length));
    head[20] = type_of(h->type);
    add_bytes(room, head, sizeof(head));
    add_bytes(room, name, length);
}

static bool shows(const struct tc_wasi_fd *fd, const char *name)
{
    return !fd->root || !fd->root->only.count || tc_strv_has(&fd->root->only, name);
}

static uint32_t fill_entries(const struct tc_wasi_fd *fd, struct room *room)
{
    char batch[BATCH] __attribute__((aligned(8)));
    long n = 0;
    while (room->left && (n = syscall(SYS_getdents64, fd->fd, batch, sizeof(batch))) > 0)
        for (long at = 0; at < n && room->left;) {
            const struct entry *e = (const struct entry *)(const void *)(batch + at);
            const struct head head = {.next = (uint64_t)e->next, .ino = e->ino, .type = e->type};
            if (shows(fd, e->name))
                add_entry(room, &head, e->name);
            at += e->length;
        }
    return tc_wasi_answer(n);
}

/* Sorted by name; a cookie is the number of entries before it. */
static uint32_t fill_by_name(struct tc_wasi *w, const struct tc_wasi_fd *fd, uint64_t from,
                             struct room *room)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    _autofree_ char **names = NULL;
    size_t count = 0;
    if (!tc_wasi_fixed_list(fd->fd, &bytes, &names, &count))
        return tc_wasi_error(errno);
    w->cost += count;
    for (uint64_t i = from; i < count && room->left; i++) {
        const char *name = names[i];
        struct head head = {
            .ino = tc_wasi_fixed_number(w, fd->fd, name), .next = i + 1, .type = (uint8_t)name[-1]};
        if (shows(fd, name))
            add_entry(room, &head, name);
    }
    return WASI_OK;
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
    if (!w->fixed && lseek(fd->fd, (off_t)a[3], SEEK_SET) < 0)
        return tc_wasi_error(errno);
    error = w->fixed ? fill_by_name(w, fd, a[3], &room) : fill_entries(fd, &room);
    if (error)
        return error;
    (void)tc_guest_put32(w, a[4], (uint32_t)room.used);
    return WASI_OK;
}
