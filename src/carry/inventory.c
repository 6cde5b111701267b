/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The inventory of a tree: its entries with their metadata, sorted by path. It is used to send the
 * tree, and later to find the tool's changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "carry/carry.h"
#include "linux/walk.h"

struct taking {
    struct tc_inventory *inventory;
    const struct tc_strv *skip;
    size_t paths_max;
    int errnum;
};

static int add_seen(struct taking *t, const char *path, const struct statx *st)
{
    struct tc_inventory *c = t->inventory;
    c->paths += strlen(path) + 1;
    if (c->paths > t->paths_max) {
        t->errnum = EFBIG;
        return -1;
    }
    char *kept = tc_arena_format(&c->arena, "%s", path);
    struct tc_carry_seen *seen = kept ? TC_PUSH(c->items, c->count) : NULL;
    if (!seen) {
        t->errnum = ENOMEM;
        return -1;
    }
    *seen = (struct tc_carry_seen){.path = kept,
                                   .inode = st->stx_ino,
                                   .size = st->stx_size,
                                   .blocks = st->stx_blocks,
                                   .mode = st->stx_mode,
                                   .uid = st->stx_uid,
                                   .mtime = st->stx_mtime,
                                   .ctime = st->stx_ctime};
    return 0;
}

/* Adds directories, regular files and links. The entries of a skipped or unreadable directory are
 * left out, the directory itself is not. */
static int visit(void *userdata, const struct tc_walk_entry *e)
{
    struct taking *t = userdata;
    unsigned mode = e->st->stx_mode;
    if (!S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode))
        return 0;
    if (strlen(e->relative) > TC_CARRY_PATH_MAX) {
        t->errnum = ENAMETOOLONG;
        return -1;
    }
    if (add_seen(t, e->relative, e->st) < 0)
        return -1;
    if (!S_ISDIR(mode))
        return 0;
    return (t->skip && tc_strv_has(t->skip, e->relative)) ||
           faccessat(e->dirfd, e->name, R_OK | X_OK, 0) < 0;
}

static int by_path(const void *a, const void *b)
{
    const struct tc_carry_seen *x = a, *y = b;
    return strcmp(x->path, y->path);
}

static int fail_census(struct tc_inventory *c, const char *where, int errnum)
{
    tc_strcopy(c->left, sizeof(c->left), where);
    errno = errnum;
    return -1;
}

static int walk_all(struct taking *t, int fd, size_t most)
{
    struct tc_walk walk = {.visit = visit, .userdata = t, .entries_max = (int64_t)most};
    if (tc_walk(&walk, fd) < 0)
        return fail_census(t->inventory, walk.path, t->errnum ? t->errnum : errno);
    if (walk.skipped)
        return fail_census(t->inventory, walk.left, walk.seen >= walk.entries_max ? EFBIG : EACCES);
    return 0;
}

int tc_inventory_take(struct tc_inventory *c, int parent, const char *name,
                      const struct tc_strv *skip, size_t most, size_t paths_max)
{
    struct taking t = {.inventory = c, .skip = skip, .paths_max = paths_max};
    struct statx st;
    *c = (struct tc_inventory){0};
    _autofd_ int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0 ||
        add_seen(&t, "", &st) < 0)
        return -1;
    if (S_ISDIR(st.stx_mode) && walk_all(&t, fd, most) < 0)
        return -1;
    qsort(c->items, c->count, sizeof(*c->items), by_path);
    return 0;
}

void tc_inventory_done(struct tc_inventory *c)
{
    free(c->items);
    tc_arena_done(&c->arena);
    *c = (struct tc_inventory){0};
}
