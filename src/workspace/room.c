/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks before a commit that copies files to the disk of the workspace whether they fit there:
 * half a commit is worse than none. */
#include "workspace/room.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <toolcage/result.h>

#include "base/strv.h"
#include "linux/walk.h"
#include "workspace/choice.h"

enum { BLOCK = 512 };

struct need {
    const struct tc_choice *choice;
    const struct tc_item *item;
    uint64_t bytes, names;
};

static int add_need(void *userdata, const struct tc_walk_entry *e)
{
    struct need *n = userdata;
    if (tc_choice_fate(n->choice, n->item, e->relative) != TC_CHOICE_COMES)
        return 0;
    n->names++;
    if (S_ISREG(e->st->stx_mode))
        n->bytes += e->st->stx_blocks * BLOCK;
    return 0;
}

/* Do the item's changes fit on its disk? Some file systems have no fixed number of names. */
static bool fits(struct need *ret)
{
    const struct tc_item *item = ret->item;
    struct tc_walk walk = {.visit = add_need, .userdata = ret, .entries_max = INT64_MAX};
    struct statvfs disk;
    if (fstatvfs(item->fd, &disk) < 0 || tc_walk(&walk, item->copy) < 0)
        return true; /* each file of the commit reports its own failure */
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return ret->bytes <= room && (!disk.f_files || ret->names <= disk.f_favail);
}

bool tc_room_lacks(const struct tc_cage *cage, struct tc_room *ret)
{
    const struct tc_trees *t = cage->trees;
    const struct tc_choice *choice = cage->workspace->choice;
    for (size_t i = 0; i < t->item_count; i++) {
        const struct tc_item *item = &t->items[i];
        struct need need = {.choice = choice, .item = item};
        bool copied = choice ? item->copy >= 0 : item->layers >= 0 && !item->near;
        if (copied && !item->single_dir && !fits(&need)) {
            *ret = (struct tc_room){item->mount->from, need.bytes};
            return true;
        }
    }
    return false;
}

int tc_room_fail(const struct tc_room *room, const char *call, struct tc_outcome *found)
{
    enum { MIB = 1 << 20 };
    _autofree_ char *hint =
        tc_format("make room there; then `toolcage changes %s commit` applies them", call);
    return tc_cage_fail(&(struct tc_cage){.outcome = found},
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "collect", room->path, ENOSPC, hint), -1,
                        "nothing was applied: the changes need %llu MiB on the disk of %s",
                        (unsigned long long)(room->bytes / MIB + 1), room->path);
}
