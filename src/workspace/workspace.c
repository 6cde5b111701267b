/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The workspace state of a cage, from its start to its end; and the failures of changes that were
 * not collected, committed or staged. */
#include "workspace/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <time.h>

#include "base/path.h"
#include "workspace/layer.h"
#include "workspace/session.h"

void tc_workspace_start(struct tc_workspace *w)
{
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &w->started);
}

/* The errors of a read-only file, and of moving or removing a mount point. */
static bool complains(const char *text, size_t length)
{
    static const char *const errors[] = {"Read-only file system", "Device or resource busy",
                                         "EROFS", "EBUSY"};
    for (size_t i = 0; i < TC_COUNT(errors); i++)
        if (tc_contains(text, length, errors[i]))
            return true;
    return false;
}

/* A directory between the tree and a steering file may have any name; those with a dot are
 * recognised. */
static bool is_named(const struct tc_init_mount *m, const char *text, size_t length)
{
    const char *name = tc_path_base(m->path);
    return (m->frozen || (m->itself && name[0] == '.')) && tc_contains(text, length, name);
}

char *tc_workspace_explain(const struct tc_cage *cage, const char *output, size_t length)
{
    enum { TOLD = 3 };
    const struct tc_trees *t = cage->trees;
    _autobuf_ struct tc_buf names = TC_BUF_INIT;
    size_t told = 0, all = 0;
    if (!t || !complains(output, length))
        return NULL;
    for (size_t i = 0; i < t->mount_count; i++) {
        const struct tc_init_mount *m = &t->mounts[i];
        all += m->frozen;
        if (told < TOLD && is_named(m, output, length))
            tc_buf_addf(&names, "%s/%s", told++ ? ", " : "", m->path);
    }
    if (!told || names.failed)
        return NULL;
    return tc_format(
        "host programs load files like %s, so %zu such names are read-only; --dry-run "
        "or --commit ask write them to a private layer, and filesystem.steering.remove "
        "makes a name content",
        names.data, all);
}

/* Hardly a program writes more than 4 GB in a second, or makes a file in a microsecond. */
enum { BYTES_PER_US = 4096 };

/* How soon a file system can be full, in bytes or in inodes. */
static int64_t fills_us(int fd)
{
    struct statfs s;
    if (fd < 0 || fstatfs(fd, &s) < 0)
        return INT64_MAX;
    uint64_t us = s.f_bfree * (uint64_t)s.f_bsize / BYTES_PER_US;
    us = s.f_ffree < us ? s.f_ffree : us;
    return us < INT64_MAX ? (int64_t)us : INT64_MAX;
}

int64_t tc_workspace_fills_us(const struct tc_trees *t)
{
    int64_t least = fills_us(t->storage);
    for (size_t i = 0; i < t->item_count; i++) {
        int64_t us = t->items[i].on_disk ? INT64_MAX : fills_us(t->items[i].copy);
        least = us < least ? us : least;
    }
    return least;
}

bool tc_workspace_full(const struct tc_trees *t)
{
    return tc_workspace_fills_us(t) == 0;
}

/* Freeing a smaller private storage takes less than a millisecond. */
static bool is_large(int storage)
{
    enum { BYTES = 4 << 20, FILES = 1000 };
    struct statfs s;
    return storage >= 0 && fstatfs(storage, &s) == 0 &&
           ((s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize > BYTES ||
            s.f_files - s.f_ffree > FILES);
}

bool tc_workspace_large(const struct tc_cage *cage)
{
    const struct tc_trees *t = cage->trees;
    if (cage->workspace->layer_count)
        return true;
    for (size_t i = 0; i < t->item_count; i++)
        if (is_large(t->items[i].copy))
            return true;
    return is_large(t->storage);
}

void tc_workspace_done(struct tc_workspace *w)
{
    free(w->copied);
    free(w->places);
    free(w->moved);
    tc_session_free(w);
}

void tc_workspace_left(struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    struct tc_workspace *w = cage->workspace;
    if (!w->left)
        w->left = tc_arena_format(&cage->trees->arena, "%s/%s", item->path, relative);
}

int tc_not_gathered(const struct tc_workspace *w, struct tc_outcome *found)
{
    const char *left = w->left;
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", left ? left : "changes",
                                     left ? 0 : errno,
                                     left ? "changes are committed 500 directories deep, with "
                                            "paths of 4 KiB; `changes` says which were"
                                          : "check the writable directories yourself"),
                        -1, "the changes of this call could not be collected%s%s",
                        left ? ": too many entries in " : "", left ? left : "");
}

int tc_not_brought_back(struct tc_outcome *found, const char *place, int errnum, size_t count,
                        const char *next)
{
    const char *path = place ? place : "a change";
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", path, errnum, next), -1,
                        "%s could not be committed, one of %zu changes", path, count);
}

int tc_not_kept(const struct tc_cage *cage, struct tc_outcome *found)
{
    int errnum = errno;
    _autofree_ char *left = tc_layers_leave(cage->workspace, cage->plan->call);
    _autofree_ char *copies = left ? tc_format("; what the tool wrote is in %s", left) : NULL;
    _autofree_ char *hint =
        tc_format("apply or discard what `toolcage changes` lists, or make room in the state "
                  "directory; then run the call again%s",
                  copies ? copies : "");
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", "changes", errnum, hint), -1,
                        "the staged changes could not be stored");
}

int tc_not_written(struct tc_outcome *found, const char *where, int errnum, const char *call)
{
    const char *path = where ? where : "the state directory";
    _autofree_ char *hint =
        tc_format("make room there; then `toolcage changes %s commit` applies them", call);
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", path, errnum, hint), -1,
                        "nothing was applied: the changes could not be written to the disk of %s",
                        path);
}
