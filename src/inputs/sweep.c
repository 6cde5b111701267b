/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Removes the objects that no kept record names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/strv.h"
#include "inputs/reader.h"
#include "inputs/store.h"
#include "linux/walk.h"
#include "state/store.h"

enum { HEX = 64, BLOCK = 4096 };

struct sweep {
    int store;
    struct set {
        char (*items)[HEX + 1];
        size_t count, sorted; /* the first `sorted` are in order */
    } named;
    int64_t removed, left;
};

static int compare(const void *x, const void *y)
{
    return strcmp(x, y);
}

static bool has(const struct set *set, const char *hex)
{
    return set->sorted && bsearch(hex, set->items, set->sorted, sizeof(*set->items), compare);
}

static bool add(struct set *set, const char *digest)
{
    char(*to)[HEX + 1] = TC_PUSH(set->items, set->count);
    if (to)
        tc_strcopy(*to, sizeof(*to), digest + strlen("sha256:"));
    return to != NULL;
}

static bool add_all(struct set *set, char *const *digests, size_t count)
{
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++)
        fine = !tc_startswith(digests[i], "sha256:") || add(set, digests[i]);
    return fine;
}

/* Sorts the set, without doubles. */
static void settle(struct set *set)
{
    size_t kept = 0;
    if (set->count)
        qsort(set->items, set->count, sizeof(*set->items), compare);
    for (size_t i = 0; i < set->count; i++)
        if (!kept || strcmp(set->items[kept - 1], set->items[i]) != 0)
            memmove(set->items[kept++], set->items[i], sizeof(*set->items));
    set->count = set->sorted = kept;
}

/* ---- what is named ---- */

/* Adds what a directory object names; its own directories go to `next`. An object that is missing
 * or was changed names nothing. */
static int add_named(struct sweep *s, const char *digest, struct tc_strv *next)
{
    _autobuf_ struct tc_buf object = TC_BUF_INIT;
    struct tc_inputs_entry e;
    size_t at = 0;
    if (tc_inputs_get(s->store, digest, &object) < 0)
        return errno == ENOMEM ? -1 : 0;
    while (tc_inputs_entry_next(&object, &at, &e) > 0) {
        bool known = has(&s->named, e.digest + strlen("sha256:"));
        if (known || !tc_startswith(e.digest, "sha256:"))
            continue;
        if (!add(&s->named, e.digest) || (e.type == 'd' && !tc_strv_add(next, e.digest)))
            return -1;
    }
    return 0;
}

/* One level of directories after the other, each once. */
static int find_named(struct sweep *s, const struct tc_stored_kept *keep)
{
    _autostrv_ struct tc_strv level = {0};
    bool fine = add_all(&s->named, keep->directories, keep->directory_count) &&
                add_all(&s->named, keep->others, keep->other_count);
    for (size_t i = 0; fine && i < keep->directory_count; i++)
        fine = tc_strv_add(&level, keep->directories[i]);
    for (int depth = 0; fine && level.count && depth <= TC_WALK_DEEPEST + 1; depth++) {
        struct tc_strv next = {0};
        settle(&s->named);
        for (size_t i = 0; fine && i < level.count; i++)
            fine = add_named(s, level.items[i], &next) == 0;
        tc_strv_done(&level);
        level = next;
    }
    settle(&s->named);
    errno = ENOMEM;
    return fine ? 0 : -1;
}

/* ---- removal ---- */

static void sweep_object(struct sweep *s, int dir, const char *parent, const char *name)
{
    struct stat st;
    char hex[HEX + 1];
    (void)snprintf(hex, sizeof(hex), "%.2s%.62s", parent, name);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    bool gone = !has(&s->named, hex) && unlinkat(dir, name, 0) == 0;
    *(gone ? &s->removed : &s->left) += (st.st_size + BLOCK) / BLOCK * BLOCK;
}

static void sweep_parent(struct sweep *s, const char *parent)
{
    struct dirent *e;
    int fd = openat(s->store, parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _autodir_ DIR *dir = fd < 0 ? NULL : tc_take_dir(fd);
    while (dir && tc_next_entry(dir, &e) > 0)
        sweep_object(s, dirfd(dir), parent, e->d_name);
}

/* Also what a killed program has left, and all indexes: they are made again. */
static int sweep_all(struct sweep *s)
{
    struct dirent *e;
    int more = 0, fd = openat(s->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _autodir_ DIR *dir = fd < 0 ? NULL : tc_take_dir(fd);
    while (dir && (more = tc_next_entry(dir, &e)) > 0)
        if (strlen(e->d_name) == 2)
            sweep_parent(s, e->d_name);
        else
            (void)unlinkat(s->store, e->d_name, 0);
    return dir && more == 0 ? 0 : -1;
}

int tc_stored_sweep(int store, const struct tc_stored_kept *keep, int64_t *ret_removed,
                    int64_t *ret_left)
{
    struct sweep s = {.store = store};
    char text[24];
    int r = find_named(&s, keep);
    if (r == 0)
        r = sweep_all(&s);
    free(s.named.items);
    *ret_removed = s.removed;
    *ret_left = s.left;
    int length = snprintf(text, sizeof(text), "%" PRId64 "\n", s.left);
    return r < 0 ? -1 : tc_store_write(store, "bytes", text, (size_t)length, 0600);
}
