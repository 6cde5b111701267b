/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Carries out the steps that a walk over the changes has decided, and corrects the result where one
 * could not be taken. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/path.h"
#include "linux/mounts.h"
#include "workspace/copy.h"
#include "workspace/journal.h"
#include "workspace/layer.h"
#include "workspace/rows.h"

void tc_carry_undone(struct tc_gathering *g, const char *relative, const char *held)
{
    int errnum = errno;
    if (!g->commit || held != tc_commit_undone)
        return;
    if (g->undone++ == 0) {
        g->undone_path = tc_row_path(g->item, relative);
        g->undone_errno = errnum;
    }
}

size_t tc_carry_next(const struct tc_gathering *g)
{
    const struct tc_steps *s = g->cage->workspace->steps;
    return s ? s->count : 0;
}

void tc_carry_link(struct tc_gathering *g, size_t first)
{
    struct tc_steps *s = g->cage->workspace->steps;
    for (; s && first < s->count; first++)
        s->steps[first].row = g->found->change_count - 1;
}

/* The tool's version of an entry that a step did not commit. False: it is gone. */
static bool find_entry(const struct tc_item *item, const char *relative, struct tc_walk_entry *e,
                       struct statx *st)
{
    const char *place = item->name ? item->name : relative;
    *e = (struct tc_walk_entry){.dirfd = tc_resolve_parent(item->copy, place),
                                .name = tc_path_base(place),
                                .relative = relative,
                                .st = st,
                                .depth = (int)tc_path_depth(relative)};
    return e->dirfd >= 0 &&
           statx(e->dirfd, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, st) == 0;
}

static void keep_entry(struct tc_gathering *g, const struct tc_step *step, const char *held)
{
    struct tc_walk_entry e;
    struct statx st;
    bool removal = step->kind == TC_STEP_REMOVE;
    const struct tc_copied *base = tc_commit_base(g->cage->workspace, g->item, step->relative);
    if (removal && base && held == tc_commit_conflict)
        tc_save_removal(&g->keeping, g->cage, base, held);
    if (removal && base)
        tc_session_keep_removal(&g->session, g->cage, base, held);
    if (removal)
        return;
    const char *kind = find_entry(g->item, step->relative, &e, &st)
                           ? tc_commit_kind(g->cage->workspace, g->item, &e)
                           : NULL;
    if (kind && held == tc_commit_conflict)
        tc_save_entry(&g->keeping, g->cage, g->item, &e,
                      &(struct tc_save){.kind = kind, .held = held});
    if (kind)
        tc_session_keep_entry(&g->session, g->cage, g->item, &e, kind, held);
    if (e.dirfd >= 0)
        (void)close(e.dirfd);
}

/* A step was not taken: the host changed its target meanwhile, or it failed. */
static void note_failed(void *userdata, size_t index, const char *held)
{
    struct tc_gathering *g = userdata;
    struct tc_steps *s = g->cage->workspace->steps;
    const struct tc_step *step = &s->steps[index];
    struct tc_change *c = step->row < g->found->change_count ? &g->found->changes[step->row] : NULL;
    int errnum = errno;
    char *word = c ? strdup(held) : NULL;
    if (word) {
        free(c->held);
        c->held = word;
    }
    g->item = s->roots[step->root].item;
    g->commit = true;
    errno = errnum;
    tc_carry_undone(g, step->relative, held);
    if (step->relative[0] && step->kind != TC_STEP_MODE)
        keep_entry(g, step, held);
}

static void note_rest(struct tc_gathering *g, size_t from, int errnum)
{
    for (; from < g->cage->workspace->steps->count; from++) {
        errno = errnum;
        note_failed(g, from, tc_commit_undone);
    }
}

/* New versions of files are on the disk already; a new directory takes a block and a name there. */
static bool has_room(struct tc_steps *s)
{
    for (size_t i = 0; i < s->root_count; i++) {
        const struct tc_step_root *r = &s->roots[i];
        struct statvfs disk;
        uint64_t count = 0;
        for (size_t j = 0; j < s->count; j++)
            count +=
                s->steps[j].kind == TC_STEP_MAKE && s->roots[s->steps[j].root].device == r->device;
        if (!count || fstatvfs(r->fd, &disk) < 0 ||
            (count <= disk.f_bavail && (!disk.f_files || count <= disk.f_favail)))
            continue;
        s->errnum = ENOSPC;
        s->where = r->path;
        return false;
    }
    return true;
}

enum tc_commit_end tc_carry_out(struct tc_gathering *g)
{
    struct tc_workspace *w = g->cage->workspace;
    struct tc_steps *s = w->steps;
    size_t left = 0;
    if (!s || (!s->count && !s->place_count))
        return TC_COMMIT_DONE;
    bool begun = !s->errnum && has_room(s) && tc_layers_keep(w, w->journal->name) == 0 &&
                 tc_journal_list(w->journal, s) == 0;
    if (begun && tc_steps_apply(s, note_failed, g, &left) == 0) {
        tc_layers_free(w);
        return TC_COMMIT_DONE;
    }
    s->errnum = s->errnum ? s->errnum : errno;
    if (begun) {
        note_rest(g, left, s->errnum);
        if (!w->choice) { /* what a person chose stays staged instead */
            tc_journal_leave(w->journal);
            return TC_COMMIT_WAITS;
        }
    }
    tc_steps_clear(s);
    tc_layers_free(w);
    return begun ? TC_COMMIT_DONE : TC_COMMIT_NONE;
}
