/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The words for changes that were not seen, not brought back, or not kept. */
#include "workspace/ungathered.h"

#include <errno.h>

#include "workspace/workspace.h"

void tc_process_left(struct tc_cage *cage, const struct tc_item *item, const char *relative)
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
                                          : "look at the writable directories by hand"),
                        -1, "the changes of this call could not be gathered%s%s",
                        left ? ": too much is in " : "", left ? left : "");
}

int tc_not_brought_back(struct tc_outcome *found, const char *place, int errnum, size_t count)
{
    const char *path = place ? place : "a change";
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", path, errnum,
                                     "`changes` says which were committed: those without `held`"),
                        -1, "%s could not be committed, one of %zu changes", path, count);
}

int tc_not_kept(struct tc_outcome *found)
{
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", "changes", errno,
                                     "apply or discard what `toolcage changes` lists, or make room "
                                     "in the state directory; then run the call again"),
                        -1, "the staged changes could not be kept");
}
