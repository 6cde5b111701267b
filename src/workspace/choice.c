/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "workspace/choice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/names/caches.h"
#include "tree/steering.h"
#include "workspace/copy.h"
#include "workspace/trusted.h"

static int by_place(const void *a, const void *b)
{
    return tc_held_order(*(const void *const *)a, *(const void *const *)b);
}

static const struct tc_held_row *find_chosen(const struct tc_choice *c, int64_t tree,
                                             const char *relative)
{
    struct tc_held_row key = {.tree = tree, .relative = (char *)relative};
    const struct tc_held_row *wanted = &key, *const *found =
                                                 c->order ? bsearch(&wanted, c->order, c->count,
                                                                    sizeof(wanted), by_place)
                                                          : NULL;
    return found ? *found : NULL;
}

static char *const *find_path(const struct tc_strv *paths, const char *path)
{
    return bsearch(&path, paths->items, paths->count, sizeof(*paths->items), tc_order_texts);
}

/* Does one of `paths` select this one: the path itself, a directory above it, or the root? Marks
 * those in `used`. A cache is selected only by the root and by paths with at least `least`
 * characters: a user who names a directory means its sources. */
static bool is_meant(const char *path, size_t least, const struct tc_strv *paths, bool *used)
{
    char place[2 * PATH_MAX];
    char *const *found = find_path(paths, "/");
    bool meant = found;
    if (found)
        used[found - paths->items] = true;
    tc_strcopy(place, sizeof(place), path);
    for (char *end = place + strlen(place); end && end > place; end = strrchr(place, '/')) {
        *end = '\0';
        found = find_path(paths, place);
        if (found)
            used[found - paths->items] = true;
        meant = meant || (found && strlen(place) >= least);
    }
    return meant;
}

/* Did the directory exist, so that the tool changed only its mode? */
static bool was_directory(const struct tc_held_row *row)
{
    return row->was && S_ISDIR(row->host.mode);
}

/* Selects the new directories above a selected change. */
static void choose_above(struct tc_choice *c, const struct tc_held_row *row)
{
    char place[PATH_MAX];
    tc_strcopy(place, sizeof(place), row->relative);
    for (char *slash = strrchr(place, '/'); slash; slash = strrchr(place, '/')) {
        *slash = '\0';
        const struct tc_held_row *above = find_chosen(c, row->tree, place);
        if (above && strcmp(above->kind, "deleted") != 0 && !was_directory(above))
            c->chosen[above - c->list->rows] = true;
    }
}

static int sort_rows(struct tc_choice *c)
{
    size_t all = c->list->row_count;
    c->order = calloc(all + 1, sizeof(*c->order));
    c->chosen = calloc(all + 1, sizeof(*c->chosen));
    if (!c->order || !c->chosen)
        return -1;
    for (size_t i = 0; i < all; i++)
        if (c->list->rows[i].kind)
            c->order[c->count++] = &c->list->rows[i];
    qsort(c->order, c->count, sizeof(*c->order), by_place);
    return 0;
}

/* A cache is committed only if it is named, but discarded with the rest. */
static bool is_left(const struct tc_choice *c, const struct tc_held_row *row)
{
    return row->cache && c->commits;
}

/* Selects the changes that the sorted paths name; no path: all changes. */
static int choose(struct tc_choice *c, const struct tc_strv *sorted, bool *used)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct tc_held_row *row = c->order[i];
        _autofree_ char *path = tc_held_path(&c->list->trees[row->tree], row);
        if (!path)
            return -1;
        size_t below = strlen(path) - strlen(row->relative);
        size_t least = is_left(c, row) ? below + (size_t)row->cache : 0;
        bool *chosen = &c->chosen[row - c->list->rows];
        *chosen = *chosen || (sorted->count ? is_meant(path, least, sorted, used) : !least);
    }
    for (size_t i = 0; (sorted->count || c->commits) && !c->discards && i < c->count; i++)
        if (c->chosen[c->order[i] - c->list->rows] && strcmp(c->order[i]->kind, "deleted") != 0)
            choose_above(c, c->order[i]);
    return 0;
}

/* Did this path select a change? A path that is given twice counts once. */
static bool is_used(const struct tc_strv *sorted, const bool *used, const char *path)
{
    for (size_t i = 0; i < sorted->count; i++)
        if (used[i] && strcmp(sorted->items[i], path) == 0)
            return true;
    return false;
}

static ssize_t find_unused(const struct tc_strv *sorted, const bool *used,
                           const struct tc_strv *paths)
{
    bool all = true;
    for (size_t i = 0; i < sorted->count; i++)
        all = all && used[i];
    for (size_t i = 0; !all && i < paths->count; i++)
        if (!is_used(sorted, used, paths->items[i]))
            return (ssize_t)i + 1;
    return 0;
}

ssize_t tc_choice_make(struct tc_choice *choice, const struct tc_held_list *list,
                       const struct tc_strv *paths)
{
    _auto_(tc_strv_done) struct tc_strv sorted = {0};
    _autofree_ bool *used = calloc(paths->count + 1, sizeof(*used));
    choice->list = list;
    choice->plain = choice->commits && !paths->count;
    if (!used || !tc_strv_copy(&sorted, paths) || sort_rows(choice) < 0)
        return -1;
    tc_strv_sort(&sorted);
    if (choose(choice, &sorted, used) < 0)
        return -1;
    return find_unused(&sorted, used, paths);
}

void tc_choice_done(struct tc_choice *choice)
{
    free(choice->order);
    free(choice->chosen);
    *choice = (struct tc_choice){0};
}

const struct tc_held_row *tc_choice_row(const struct tc_choice *choice, const struct tc_item *item,
                                        const char *relative)
{
    return choice ? find_chosen(choice, item - choice->trees->items, relative) : NULL;
}

enum tc_choice_fate tc_choice_fate(const struct tc_choice *choice, const struct tc_item *item,
                                   const char *relative)
{
    const struct tc_held_row *row = tc_choice_row(choice, item, relative);
    if (!choice)
        return TC_CHOICE_COMES;
    if (!row || !choice->chosen[row - choice->list->rows])
        return TC_CHOICE_STAYS;
    return choice->discards ? TC_CHOICE_GOES : TC_CHOICE_COMES;
}

/* Not executable, and without special permissions: 07000 are the setuid, setgid and sticky bits. */
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
    if (S_ISREG(found.mode) && held == tc_commit_steering && tc_trusted_index(e->relative) &&
        tc_item_steers(item, e->relative) == TC_STEERS_WRITTEN)
        return strlen(e->relative); /* not needed: git rebuilds it */
    bool apart = item->name || held == tc_commit_conflict || held == tc_commit_steering;
    return !cache || apart || tc_steers_place(item, e->dirfd, e->relative, found.mode) ? 0 : cache;
}
