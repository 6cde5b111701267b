/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The digest of a call's staged changes, to which a person's approval is bound:
 * the stored list, with the host's versions, type, size and content of each staged entry, and the
 * names of entries that the list does not have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/path.h"
#include "workspace/copy.h"
#include "workspace/held.h"

/* Texts and contents have their lengths before them, so that no two lists have the same bytes. */
static void add_number(SHA2_CTX *ctx, int64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)((uint64_t)number >> (8 * i));
    SHA256Update(ctx, bytes, sizeof(bytes));
}

static void add_bytes(SHA2_CTX *ctx, const void *bytes, size_t length)
{
    add_number(ctx, (int64_t)length);
    SHA256Update(ctx, bytes, length);
}

/* 0, or -1: it was not read to its end. */
static int add_content(SHA2_CTX *ctx, int dir, const char *name)
{
    unsigned char block[65536];
    int64_t bytes = 0;
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (;;) {
        ssize_t n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (!n)
            break;
        SHA256Update(ctx, block, (size_t)n);
        bytes += n;
    }
    add_number(ctx, bytes);
    return 0;
}

static int add_link(SHA2_CTX *ctx, int dir, const char *name)
{
    _autofree_ char *target = tc_link_target(dir, name);
    if (target)
        add_bytes(ctx, target, strlen(target));
    return target ? 0 : -1;
}

/* A file that its mode keeps from being read is known by its inode and times, which only the
 * user's own programs could set. */
static void add_stamp(SHA2_CTX *ctx, const struct statx *st)
{
    add_number(ctx, (int64_t)st->stx_ino);
    add_number(ctx, st->stx_mtime.tv_sec);
    add_number(ctx, st->stx_mtime.tv_nsec);
    add_number(ctx, st->stx_ctime.tv_sec);
    add_number(ctx, st->stx_ctime.tv_nsec);
}

/* 0, or -1 with errno. */
static int add_entry(SHA2_CTX *ctx, int own, const struct tc_held_list *list,
                     const struct tc_held_row *row)
{
    const struct tc_held_tree *tree = &list->trees[row->tree];
    struct statx st;
    _autofree_ char *place =
        tc_format("%lld/%s", (long long)row->tree, tree->name ? tree->name : row->relative);
    if (!place)
        return -1;
    const char *name = tc_path_base(place);
    _autofd_ int dir = tc_resolve_parent(own, place);
    if (dir < 0 || statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0) {
        add_number(ctx, -1); /* a removal */
        return tc_resolve_gone(errno) ? 0 : -1;
    }
    add_number(ctx, st.stx_mode);
    if (S_ISLNK(st.stx_mode))
        return add_link(ctx, dir, name);
    if (!S_ISREG(st.stx_mode))
        return 0;
    add_number(ctx, (int64_t)st.stx_size);
    if (add_content(ctx, dir, name) == 0)
        return 0;
    if (errno != EACCES)
        return -1;
    add_stamp(ctx, &st);
    return 0;
}

/* ---- entries without a row, which something else than the call has put there ---- */

enum { ENTRIES_MAX = 2000000 };

struct looking {
    SHA2_CTX *ctx;
    const struct tc_held_list *list;
    const struct tc_held_row **order;
    int64_t tree;
};

static int by_place(const void *a, const void *b)
{
    return tc_held_order(*(const void *const *)a, *(const void *const *)b);
}

/* A single file has the name that it has on the host in the list, and another one in the tree. */
static int add_unlisted(void *userdata, const struct tc_walk_entry *e)
{
    const struct looking *l = userdata;
    const struct tc_held_tree *tree = &l->list->trees[l->tree];
    bool single = tree->name && strcmp(e->relative, tree->name) == 0;
    const struct tc_held_row key = {.tree = l->tree,
                                    .relative = single ? tree->host_name : (char *)e->relative};
    const struct tc_held_row *wanted = &key;
    if (key.relative && bsearch(&wanted, l->order, l->list->row_count, sizeof(wanted), by_place))
        return 0;
    add_number(l->ctx, l->tree);
    add_bytes(l->ctx, e->relative, strlen(e->relative));
    add_number(l->ctx, e->st->stx_mode);
    return 0;
}

/* 0, or -1 with errno: some could not be seen. */
static int add_all_unlisted(SHA2_CTX *ctx, int own, const struct tc_held_list *list)
{
    _autofree_ const struct tc_held_row **order = calloc(list->row_count + 1, sizeof(*order));
    struct looking looking = {.ctx = ctx, .list = list, .order = order};
    if (!order)
        return -1;
    for (size_t i = 0; i < list->row_count; i++)
        order[i] = &list->rows[i];
    qsort(order, list->row_count, sizeof(*order), by_place);
    for (; looking.tree < (int64_t)list->tree_count; looking.tree++) {
        struct tc_walk walk = {
            .visit = add_unlisted, .userdata = &looking, .entries_max = ENTRIES_MAX};
        char number[24];
        (void)snprintf(number, sizeof(number), "%lld", (long long)looking.tree);
        _autofd_ int fd = openat(own, number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || tc_walk(&walk, fd) < 0)
            return -1;
        errno = E2BIG;
        if (walk.skipped)
            return -1;
    }
    return 0;
}

int tc_held_digest(int own, struct tc_held_list *list, char ret[TC_DIGEST_SIZE])
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    SHA2_CTX ctx;
    int rc = 0;
    tc_held_visit(&w, list);
    errno = w.failed ? ENOMEM : 0;
    rc = w.failed ? -1 : 0;
    SHA256Init(&ctx);
    add_bytes(&ctx, w.out.data, w.out.len);
    tc_buf_done(&w.out);
    for (size_t i = 0; i < list->row_count && rc == 0; i++)
        rc = add_entry(&ctx, own, list, &list->rows[i]);
    if (rc == 0)
        rc = add_all_unlisted(&ctx, own, list);
    tc_digest_finish(&ctx, ret);
    return rc;
}
