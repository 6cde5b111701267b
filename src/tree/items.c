/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted paths of a cage as a list: what holds what, what is denied, and how a failure names
 * one. Asks no file system. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tree/tree.h"

int tc_process_refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                      const char *before, const char *after)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EPATH, "resolve", m->from, errnum, hint),
                       m->kind == TC_MOUNT_WRITE ? TC_CLAUSE_FS_WRITE : TC_CLAUSE_FS_READ, "%s%s%s",
                       before, m->from, after);
    f->key = m->key ? strdup(m->key) : NULL;
    f->line = m->line;
    return -1;
}

bool tc_process_denied(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->deny_count; i++)
        if (tc_path_within(plan->denies[i].path, path))
            return true;
    return false;
}

/* Places that are the cage's own. The policy refuses them too; this is the second look. */
bool tc_process_reserved(const char *path)
{
    static const char *const own[] = {"/proc", "/dev", "/sys", "/mnt"};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (tc_path_within(own[i], path))
            return true;
    return strcmp(path, "/") == 0 || strcmp(path, "/tmp") == 0 || strcmp(path, "/etc") == 0;
}

static int by_depth(const void *a, const void *b)
{
    const struct tc_item *x = a, *y = b;
    size_t dx = tc_path_depth(x->path), dy = tc_path_depth(y->path);
    return dx != dy ? (dx > dy) - (dx < dy) : strcmp(x->path, y->path);
}

void tc_process_sort(struct tc_trees *t)
{
    qsort(t->items, t->item_count, sizeof(*t->items), by_depth);
}

struct tc_item *tc_process_holder(const struct tc_trees *t, const char *path)
{
    struct tc_item *best = NULL;
    for (size_t i = 0; i < t->item_count; i++) {
        struct tc_item *item = &t->items[i];
        if (item->directory && strcmp(item->path, path) != 0 && tc_path_within(item->path, path) &&
            (!best || strlen(item->path) > strlen(best->path)))
            best = item;
    }
    return best;
}

bool tc_process_copied(const struct tc_plan *plan, const struct tc_item *item)
{
    return item->writable && item->directory && item->mount->workspace &&
           plan->workspace != TC_WORKSPACE_BIND;
}
