/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "workspace/cache.h"

#include <string.h>
#include <sys/stat.h>

#include "policy/names/caches.h"
#include "tree/steering.h"
#include "workspace/choice.h"
#include "workspace/copy.h"
#include "workspace/trusted.h"

/* Nobody runs it, and nothing is behind it: 07000 are the bits that give rights away. */
static bool is_plain(unsigned mode)
{
    return S_ISDIR(mode) || (S_ISREG(mode) && !(mode & 07111));
}

static bool is_same_kind(const struct tc_cache_change *c)
{
    if (strcmp(c->kind, "added") == 0)
        return !c->was_mode;
    return strcmp(c->kind, "modified") == 0 && (c->mode & S_IFMT) == (c->was_mode & S_IFMT);
}

size_t tc_cache_of(const struct tc_strv *patterns, const struct tc_cache_change *change)
{
    if (!is_plain(change->mode) || !is_same_kind(change))
        return 0;
    return tc_cache_name(patterns, change->relative);
}

size_t tc_cache_entry(const struct tc_cage *cage, const struct tc_item *item,
                      const struct tc_walk_entry *e, const struct tc_cache_change *change,
                      const char *held)
{
    const struct tc_choice *choice = cage->workspace->choice;
    const struct tc_held_row *row = tc_choice_row(choice, item, e->relative);
    struct tc_cache_change found = *change;
    found.relative = e->relative;
    found.mode = e->st->stx_mode;
    size_t cache = row ? (size_t)row->cache : choice ? 0 : tc_cache_of(&cage->plan->caches, &found);
    if (S_ISREG(found.mode) && held == tc_commit_steering && tc_trusted_index(e->relative))
        return strlen(e->relative); /* nobody needs it: git makes it anew */
    bool apart = item->name || held == tc_commit_conflict || held == tc_commit_steering;
    return !cache || apart || tc_steers_place(item, e->dirfd, e->relative, found.mode) ? 0 : cache;
}
