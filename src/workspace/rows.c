/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The rows of a result: a changed entry with its attributes, and the files that `collect` names.
 */
#include "workspace/rows.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tree/steering.h"
#include "workspace/choice.h"
#include "workspace/copy.h"

enum { LISTED_MAX = 10000 };

static bool collected(const struct tc_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->collect.count; i++)
        if (fnmatch(plan->collect.items[i], name, 0) == 0)
            return true;
    return false;
}

/* Does a deeper granted path cover this one? Then the tool's changes are listed there. */
static bool covered(const struct tc_gathering *g, const char *path)
{
    const struct tc_trees *t = g->cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (!t->items[i].part && strlen(t->items[i].path) > strlen(g->item->path) &&
            tc_path_within(t->items[i].path, path))
            return true;
    return false;
}

/* A bound tree may hold other users' files, changed by those users: a file that the tool could not
 * read is not read for it. */
static bool readable(const struct tc_gathering *g, const struct statx *st)
{
    const struct tc_trees *t = g->cage->trees;
    const struct tc_item *item = g->item;
    return item->copy >= 0 || !t->host->privileged || st->stx_uid == item->uid ||
           st->stx_uid == t->id || (st->stx_mode & S_IROTH) ||
           (st->stx_gid == item->gid && (st->stx_mode & S_IRGRP));
}

/* Does `collect` name this file, and may the tool show it? */
static bool offered(const struct tc_gathering *g, const char *path, const struct statx *st)
{
    return S_ISREG(st->stx_mode) && collected(g->cage->plan, tc_path_base(path)) &&
           !tc_tree_denied(g->cage->plan, path) && !covered(g, path) && readable(g, st);
}

char *tc_row_path(const struct tc_item *item, const char *relative)
{
    return item->name || !relative[0] ? strdup(item->path) : tc_path_join(item->path, relative);
}

static bool is_full(const struct tc_gathering *g, bool steers)
{
    return (steers ? g->steering : g->found->change_count - g->steering) >= LISTED_MAX;
}

struct tc_change *tc_row_list(struct tc_gathering *g, const char *relative,
                              const struct tc_row *row)
{
    struct tc_outcome *o = g->found;
    _Atomic int64_t *collected = g->cage->workspace->collected;
    _autofree_ char *path = tc_row_path(g->item, relative);
    _autofree_ char *word = strdup(row->kind);
    _autofree_ char *held = row->held ? strdup(row->held) : NULL;
    bool whole = path && word && !row->held == !held && !is_full(g, row->steers);
    if (collected)
        (void)atomic_fetch_add_explicit(collected, 1, memory_order_relaxed);
    struct tc_change *c = whole ? TC_PUSH(o->changes, o->change_count) : NULL;
    if (c)
        *c = (struct tc_change){.path = TAKE(path),
                                .kind = TAKE(word),
                                .held = TAKE(held),
                                .steers_host = row->steers,
                                .cache = (int64_t)row->cache,
                                .verified = row->checked};
    else
        o->omitted_changes++;
    g->steering += c && row->steers;
    return c;
}

/* Adds a file to the result, with its bytes if they were read. */
static void collect(struct tc_gathering *g, const struct tc_change *c, struct tc_reading *reading)
{
    struct tc_outcome *o = g->found;
    _autofree_ char *path = strdup(c->path);
    _autofree_ char *sha256 = c->sha256 ? strdup(c->sha256) : NULL;
    bool whole = path && !c->sha256 == !sha256 && !reading->no_memory;
    struct tc_file *f = whole ? TC_PUSH(o->files, o->file_count) : NULL;
    if (!f) {
        o->omitted_files++;
        return;
    }
    *f = (struct tc_file){.path = TAKE(path),
                          .bytes = c->bytes,
                          .sha256 = TAKE(sha256),
                          .steers_host = c->steers_host};
    f->content_len = reading->content ? (size_t)reading->bytes : 0;
    f->content = TAKE(reading->content);
}

int64_t tc_row_mode_before(const struct tc_gathering *g, const char *relative)
{
    const struct tc_copied *base = tc_commit_base(g->cage->workspace, g->item, relative);
    return !base ? 0 : base->host.mode ? base->host.mode : base->copy.mode;
}

bool tc_row_checked(struct tc_gathering *g, const struct tc_walk_entry *e)
{
    struct tc_workspace *w = g->cage->workspace;
    const struct tc_held_row *row = tc_choice_row(w->choice, g->item, e->relative);
    bool trusted = !g->item->name && !S_ISDIR(e->st->stx_mode) &&
                   tc_item_steers(g->item, e->relative) == TC_STEERS_WRITTEN;
    if (!trusted || w->choice)
        return trusted && row && row->checked;
    w->over = w->over || w->inline_collect;
    return !w->inline_collect && tc_trusted_check(&g->trusted, e);
}

/* In a bind mount, a modified directory may have been moved there, with files that kept their
 * times, unless it was mounted on itself, like `objects`. git changes these two all the time. */
static bool may_be_moved(const struct tc_gathering *g, const struct tc_walk_entry *e,
                         const struct tc_row *c)
{
    return c->by_time && strcmp(c->kind, "modified") == 0 && strcmp(e->name, "objects") != 0 &&
           strcmp(e->name, "refs") != 0 && !tc_steers_pinned(g->cage->trees, g->item, e->relative);
}

/* A new directory of objects is harmless. In a directory that may hold steering files each entry is
 * judged, and in one of loose objects ("ab") each object is verified. */
static bool steers_now(const struct tc_gathering *g, const struct tc_walk_entry *e,
                       const struct tc_row *c)
{
    enum tc_steers steers = tc_item_steers(g->item, e->relative);
    bool trusted = steers == TC_STEERS_WRITTEN;
    if ((trusted || steers == TC_STEERS_ROOM) && S_ISDIR(e->st->stx_mode))
        return !(trusted && strlen(e->name) == 2) && may_be_moved(g, e, c);
    return !(trusted && c->checked) &&
           tc_steers_place(g->item, e->dirfd, e->relative, e->st->stx_mode);
}

void tc_row_look_done(struct tc_row_look *l)
{
    free(l->target);
    tc_reading_done(&l->reading);
}

void tc_row_look_at(struct tc_gathering *g, const struct tc_walk_entry *e, const struct tc_row *row,
                    struct tc_row_look *ret)
{
    *ret = (struct tc_row_look){.steers = steers_now(g, e, row)};
    if (is_full(g, ret->steers))
        return;
    _autofree_ char *path = tc_row_path(g->item, e->relative);
    ret->wanted = path && offered(g, path, e->st);
    ret->target = S_ISLNK(e->st->stx_mode) ? tc_link_target(e->dirfd, e->name) : NULL;
    tc_reading_make(&g->reader, e, ret->wanted, &ret->reading);
}

void tc_row_add(struct tc_gathering *g, const struct tc_walk_entry *e, struct tc_row *row,
                struct tc_row_look *look)
{
    /* the files that make a repository of its directory may be on the host by now */
    row->steers = look->steers || row->held == tc_commit_steering;
    g->told[e->depth] = true;
    struct tc_change *c = tc_row_list(g, e->relative, row);
    if (!c)
        return;
    c->bytes = look->reading.sha256 ? look->reading.bytes : (int64_t)e->st->stx_size;
    c->sha256 = TAKE(look->reading.sha256);
    c->attribution = row->by_time ? strdup("time") : NULL;
    if (e->st->stx_nlink > 1 && S_ISREG(e->st->stx_mode))
        c->links = (int64_t)e->st->stx_nlink;
    c->target = TAKE(look->target);
    if (g->item->copy >= 0) {
        c->mode = S_ISREG(e->st->stx_mode) ? e->st->stx_mode & ~(unsigned)S_ISGID : e->st->stx_mode;
        c->was_mode = tc_row_mode_before(g, e->relative);
    }
    if (look->wanted)
        collect(g, c, &look->reading);
}

void tc_row_note(struct tc_gathering *g, const struct tc_walk_entry *e, const struct tc_row *said)
{
    struct tc_row row = *said;
    _auto_(tc_row_look_done) struct tc_row_look look;
    row.checked = row.by_time ? tc_row_checked(g, e) : row.checked;
    tc_row_look_at(g, e, &row, &look);
    tc_row_add(g, e, &row, &look);
}
