/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stores a call's data for its session, in the process that collects changes, after all processes
 * of the tool have ended. The tool chose the names and the number of entries; the call's `disk`
 * limits the bytes, for each storage separately. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/path.h"
#include "linux/walk.h"
#include "state/store.h"
#include "workspace/copy.h"
#include "workspace/session.h"

enum { ENTRIES_MAX = 2000000, BLOCK = 512 };

static void give_up(struct tc_session_keeping *s, int errnum, const char *over)
{
    if (s->failed)
        return;
    s->failed = true;
    s->errnum = errnum;
    s->over = over;
}

void tc_session_keep_begin(struct tc_session_keeping *s, const struct tc_cage *cage)
{
    const struct tc_session *session = cage->workspace->session;
    *s = (struct tc_session_keeping){.active = session != NULL, .k = {.dir = -1, .own = -1}};
    if (!session)
        return;
    tc_session_tree(session->record.generation + 1, s->tree);
    if (mkdirat(session->own, s->tree, 0700) == 0)
        s->k.own = openat(session->own, s->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->k.own < 0)
        give_up(s, errno, NULL);
}

/* Hard links are stored as separate files, so the blocks of each count. */
static bool fits(struct tc_session_keeping *s, const struct tc_cage *cage,
                 const struct tc_walk_entry *e)
{
    const struct tc_limits *l = &cage->plan->limits;
    int64_t bytes = S_ISREG(e->st->stx_mode) ? (int64_t)e->st->stx_blocks * BLOCK : 0;
    s->bytes += bytes;
    s->all += bytes;
    s->entries++;
    if (s->bytes > l->disk)
        give_up(s, 0, "`disk`");
    else if (l->inodes && s->entries > l->inodes)
        give_up(s, 0, "the number of files that `disk` allows");
    return !s->failed;
}

static bool is_kept(const struct tc_walk_entry *e)
{
    return S_ISREG(e->st->stx_mode) || S_ISDIR(e->st->stx_mode) || S_ISLNK(e->st->stx_mode);
}

static bool of_layer(struct tc_session_keeping *s, const struct tc_item *item)
{
    if (!s->active || s->failed || item->layers < 0 || item->single_dir || item->name)
        return false;
    if (s->item != item) {
        s->item = item;
        s->bytes = s->entries = 0;
    }
    return true;
}

void tc_session_keep_entry(struct tc_session_keeping *s, const struct tc_cage *cage,
                           const struct tc_item *item, const struct tc_walk_entry *e,
                           const char *kind, const char *held)
{
    if (!of_layer(s, item) || tc_workspace_denied(cage, item, e->relative))
        return;
    if (!is_kept(e)) {
        s->dropped++;
        return;
    }
    if (!fits(s, cage, e))
        return;
    tc_save_entry(&s->k, cage, item, e, &(struct tc_save){.kind = kind, .held = held});
    if (s->k.failed)
        give_up(s, errno, NULL);
}

void tc_session_keep_removal(struct tc_session_keeping *s, const struct tc_cage *cage,
                             const struct tc_copied *entry, const char *held)
{
    if (!of_layer(s, entry->item))
        return;
    tc_save_removal(&s->k, cage, entry, held);
    if (s->k.failed)
        give_up(s, errno, NULL);
}

void tc_session_keep_skipped(struct tc_session_keeping *s, int64_t count)
{
    if (s->active && count)
        give_up(s, 0, "the maximum depth or number of names");
}

/* ---- /tmp ---- */

struct tmp {
    struct tc_session_keeping *s;
    const struct tc_cage *cage;
    int to;
};

/* What the grant put there comes from the grant of the next call. */
static bool is_granted(const struct tc_cage *cage, const char *relative)
{
    const struct tc_trees *t = cage->trees;
    _autofree_ char *path = tc_path_join("/tmp", relative);
    for (size_t i = 0; path && i < t->item_count; i++)
        if (strcmp(t->items[i].path, path) == 0)
            return true;
    return !path;
}

static int copy_entry(const struct tmp *t, const struct tc_walk_entry *e)
{
    if (S_ISDIR(e->st->stx_mode))
        return mkdirat(t->to, e->relative, (e->st->stx_mode & 0777) | 0700);
    return tc_workspace_copy_entry(e, t->to, e->relative) < 0
               ? -1
               : tc_workspace_copy_times(t->to, e->relative, e->st);
}

static int visit_tmp(void *userdata, const struct tc_walk_entry *e)
{
    const struct tmp *t = userdata;
    if (is_granted(t->cage, e->relative))
        return 1;
    if (!is_kept(e)) {
        t->s->dropped++;
        return 0;
    }
    if (!fits(t->s, t->cage, e))
        return -1;
    if (copy_entry(t, e) == 0)
        return 0;
    give_up(t->s, errno, NULL);
    return -1;
}

/* Sets the times after the entries were copied. */
static void set_times(void *userdata, const struct tc_walk_entry *directory)
{
    const struct tmp *t = userdata;
    (void)tc_workspace_copy_times(t->to, directory->relative, directory->st);
}

static void keep_tmp(struct tc_session_keeping *s, const struct tc_cage *cage)
{
    s->bytes = s->entries = 0;
    _autofd_ int to =
        s->failed || mkdirat(s->k.own, "tmp", 0700) < 0
            ? -1
            : openat(s->k.own, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0) {
        give_up(s, errno, NULL);
        return;
    }
    struct tmp t = {.s = s, .cage = cage, .to = to};
    struct tc_walk walk = {
        .visit = visit_tmp, .leave = set_times, .userdata = &t, .entries_max = ENTRIES_MAX};
    if (tc_walk(&walk, cage->trees->storage) < 0)
        give_up(s, errno, NULL);
    tc_session_keep_skipped(s, walk.skipped);
}

/* ---- replacing the old data ---- */

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int put_record(struct tc_session_keeping *s, const struct tc_cage *cage,
                      struct tc_session_record *record)
{
    const struct tc_session *session = cage->workspace->session;
    const struct tc_plan *plan = cage->plan;
    int64_t now = (int64_t)time(NULL);
    *record = (struct tc_session_record){.name = copy(plan->session),
                                         .tool = copy(plan->tool),
                                         .bounds = copy(plan->bounds),
                                         .generation = session->record.generation + 1,
                                         .calls = session->record.calls + 1,
                                         .bytes = s->all,
                                         .made = session->record.calls ? session->record.made : now,
                                         .used = now,
                                         .list = s->k.list};
    s->k.list = (struct tc_held_list){0};
    if (record->name && record->bounds && !record->tool == !plan->tool)
        return tc_session_write(session->own, record);
    errno = ENOMEM;
    return -1;
}

static void fail_keeping(const struct tc_session_keeping *s, const struct tc_cage *cage,
                         struct tc_outcome *found)
{
    const char *name = cage->plan->session;
    struct tc_why why = {
        .code = TOOLCAGE_EBACKEND,
        .stage = "session",
        .subject = name,
        .errnum = s->errnum,
        .hint = s->over ? "leave fewer files in /tmp and the workspace, or raise `disk`"
                        : "make room in the state directory, then call again"};
    struct tc_cage aside = {.outcome = found};
    if (s->over)
        (void)tc_cage_fail(&aside, &why, -1,
                           "session %s would exceed %s, so this call did not change it", name,
                           s->over);
    else
        (void)tc_cage_fail(&aside, &why, -1,
                           "session %s could not be stored, so this call did not change it", name);
}

static void keeping_done(struct tc_session_keeping *s)
{
    tc_held_list_done(&s->k.list);
    if (s->k.own >= 0)
        (void)close(s->k.own);
}

void tc_session_keep_drop(struct tc_session_keeping *s, const struct tc_cage *cage)
{
    if (!s->active)
        return;
    (void)tc_remove_tree(cage->workspace->session->own, s->tree);
    keeping_done(s);
}

void tc_session_keep_end(struct tc_session_keeping *s, struct tc_cage *cage,
                         struct tc_outcome *found)
{
    struct tc_session *session = cage->workspace->session;
    struct tc_session_record record = {0};
    char old[24];
    if (!s->active)
        return;
    keep_tmp(s, cage);
    if (!s->failed && put_record(s, cage, &record) < 0)
        give_up(s, errno, NULL);
    tc_session_tree(session->record.generation, old);
    (void)tc_remove_tree(session->own, s->failed ? s->tree : old);
    if (s->failed)
        fail_keeping(s, cage, found);
    else if (tc_session_add_row(found, record.name, &record) == 0 && s->dropped && !found->note)
        found->note = tc_format("session %s does not store %zu sockets, pipes or devices",
                                record.name, s->dropped);
    tc_session_record_done(&record);
    keeping_done(s);
}
