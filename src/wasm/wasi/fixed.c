/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What replaces the host for a deterministic guest: a clock driven by its own work, pseudorandom
 * numbers with a constant seed, files numbered as they are seen, directories sorted by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "wasm/wasi/guest.h"

enum { SEEN_MAX = 1 << 16, BATCH = 32768, LIST_MAX = 16 << 20 };

uint64_t tc_wasi_fixed_clock(const struct tc_wasi *w, uint64_t id)
{
    uint64_t computed = w->used, passed = computed + w->slept;
    return id > WASI_MONOTONIC ? computed : id == WASI_MONOTONIC ? passed : TC_WASI_EPOCH + passed;
}

/* SplitMix64: reproducible, not secret. */
static uint64_t draw(struct tc_wasi *w)
{
    uint64_t z = w->chance += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void tc_wasi_fixed_random(struct tc_wasi *w, uint8_t *to, uint64_t length)
{
    for (uint64_t at = 0, word = 0; at < length; at++, word >>= 8) {
        if (at % sizeof(word) == 0)
            word = draw(w);
        to[at] = (uint8_t)word;
    }
}

static uint64_t find_inode(const struct tc_wasi *w, const struct tc_wasi_seen *one)
{
    for (size_t i = 0; i < w->seen_count; i++)
        if (w->seen[i].ino == one->ino && w->seen[i].dev == one->dev &&
            w->seen[i].born == one->born)
            return i + 1;
    return 0;
}

uint64_t tc_wasi_fixed_number(struct tc_wasi *w, int dir, const char *name)
{
    struct statx st;
    if (syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
                &st) < 0)
        return 0;
    const struct tc_wasi_seen one = {.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
                                     .ino = st.stx_ino,
                                     .born =
                                         st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec};
    uint64_t number = find_inode(w, &one);
    w->cost += w->seen_count;
    struct tc_wasi_seen *new =
        number || w->seen_count == SEEN_MAX ? NULL : TC_PUSH(w->seen, w->seen_count);
    if (new)
        *new = one;
    return new ? w->seen_count : number;
}

struct entry { /* linux_dirent64 */
    uint64_t ino;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* The kernel's order and cookies depend on the file system, so entries are sorted by name. */
bool tc_wasi_fixed_list(int dir, struct tc_buf *ret, char ***ret_names, size_t *ret_count)
{
    char batch[BATCH] __attribute__((aligned(8)));
    long n = 0;
    size_t count = 0;
    ret->max = LIST_MAX;
    if (lseek(dir, 0, SEEK_SET) < 0)
        return false;
    while ((n = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0)
        for (long at = 0; at < n; count++) {
            const struct entry *e = (const struct entry *)(const void *)(batch + at);
            tc_buf_addc(ret, (char)e->type);
            tc_buf_add(ret, e->name, strlen(e->name) + 1);
            at += e->length;
        }
    if (n < 0)
        return false;
    char **names = ret->failed ? NULL : calloc(count + 1, sizeof(char *));
    errno = ENOMEM;
    if (!names)
        return false;
    char *at = ret->data;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        names[i] = ++at; /* its type is the byte before */
    qsort(names, count, sizeof(char *), tc_order_texts);
    *ret_names = names;
    *ret_count = count;
    return true;
}
