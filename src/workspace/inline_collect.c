/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A collection that is short enough for a worker thread of the helper. It can be abandoned while it
 * only reads, and it commits at most one file, atomically. If it exceeds a limit, its result is
 * discarded and a process collects. */
#include "workspace/inline_collect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "workspace/workspace.h"

/* How many items of each kind there are. */
struct kinds {
    size_t trees, files, others;
};

static bool is_tree(const struct tc_item *item)
{
    return item->copy < 0 && item->layers < 0;
}

static bool is_file(const struct tc_item *item)
{
    return item->name && !item->part && !item->single_dir && item->layers < 0;
}

/* A private directory that holds nothing but single writable files and shows no host entries. */
static bool is_empty_single_dir(const struct tc_item *item)
{
    return item->single_dir && item->layers < 0 && !item->writable;
}

static struct kinds count(const struct tc_trees *t)
{
    struct kinds k = {0};
    for (size_t i = 0; i < t->item_count; i++) {
        const struct tc_item *item = &t->items[i];
        bool tree = is_tree(item), file = !tree && is_file(item);
        k.trees += tree && item->writable && !item->part;
        k.files += file;
        k.others += !tree && !file && !is_empty_single_dir(item);
    }
    return k;
}

/* A file system that does not respond would block the worker thread. */
static bool suits(const struct tc_cage *cage)
{
    const struct tc_workspace *w = cage->workspace;
    const struct tc_trees *t = cage->trees;
    if (!w || cage->changes_lost || w->over || w->session || w->choice || t->remote ||
        cage->plan->workspace != TC_WORKSPACE_BIND || cage->outcome->failure.code)
        return false;
    struct kinds k = count(t);
    return !k.others && (k.files ? k.files == 1 && !k.trees : k.trees || t->masked_count);
}

bool tc_inline_collect_begin(struct tc_cage *cage)
{
    struct tc_workspace *w = cage->workspace;
    if (!suits(cage))
        return false;
    w->inline_collect = calloc(1, sizeof(*w->inline_collect));
    if (!w->inline_collect)
        return false;
    w->committing = tc_workspace_commits(cage, false);
    return true;
}

/* A file is committed here only if it is known to be small. */
static bool is_small(const struct tc_trees *t)
{
    struct stat st;
    for (size_t i = 0; i < t->item_count; i++)
        if (is_file(&t->items[i]) && t->items[i].copy >= 0 &&
            fstatat(t->items[i].copy, t->items[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_size > TC_INLINE_COLLECT_BYTES)
            return false;
    return true;
}

/* Works on a copy of the cage, because the loop may write the original's outcome meanwhile. */
void tc_inline_collect_work(struct tc_cage *cage)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_cage own = *cage;
    own.outcome = w->inline_collect;
    w->over = !is_small(own.trees);
    if (!w->over)
        tc_workspace_gather(&own, false);
}

bool tc_inline_collect_end(struct tc_cage *cage)
{
    struct tc_workspace *w = cage->workspace;
    if (!w->over)
        tc_workspace_merge(cage->outcome, w->inline_collect);
    tc_outcome_done(w->inline_collect);
    free(TAKE(w->inline_collect));
    w->committing = false;
    return !w->over;
}
