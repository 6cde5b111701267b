/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds changes in the writable paths. A child of the helper walks them, so that a large tree
 * delays no other call's deadline. Bind mounts are compared by time: every change since the start
 * is listed, whoever made it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/walk.h"
#include "tree/steering.h"
#include "workspace/choice.h"
#include "workspace/copy.h"
#include "workspace/inline_collect.h"
#include "workspace/journal.h"
#include "workspace/layer.h"
#include "workspace/rows.h"

/* Deeper entries are not committed, so that the next call can still walk the tree. */
enum { DEEPEST = 400 };

enum { ENTRIES_MAX = 2000000, SECONDS_MAX = 60 };

static bool since(const struct tc_workspace *w, const struct statx_timestamp *at)
{
    return at->tv_sec != w->started.tv_sec ? at->tv_sec > w->started.tv_sec
                                           : (long)at->tv_nsec >= w->started.tv_nsec;
}

/* Was a denied object moved, with its directory, to a name that is not denied? The tool could not
 * see the object, so it is not listed. */
static bool moved_away(const struct tc_gathering *g, const struct tc_walk_entry *e)
{
    const struct tc_trees *t = g->cage->trees;
    dev_t dev = makedev(e->st->stx_dev_major, e->st->stx_dev_minor);
    for (size_t i = 0; i < t->masked_count; i++)
        if (t->masked[i].id.ino == e->st->stx_ino && t->masked[i].id.dev == dev)
            return !tc_workspace_denied(g->cage, g->item, e->relative);
    return false;
}

static bool is_added(const struct tc_workspace *w, const struct statx *st)
{
    return (st->stx_mask & STATX_BTIME) && since(w, &st->stx_btime);
}

/* Did the directory itself change: was it renamed, its mode or ACL set, or an unlisted entry
 * removed? Creating an entry changes both times. */
static bool is_changed(const struct tc_gathering *g, const struct statx *st, bool told)
{
    bool alone = st->stx_ctime.tv_sec != st->stx_mtime.tv_sec ||
                 st->stx_ctime.tv_nsec != st->stx_mtime.tv_nsec;
    return since(g->cage->workspace, &st->stx_ctime) && (alone || !told);
}

static void leave(void *userdata, const struct tc_walk_entry *e)
{
    struct tc_gathering *g = userdata;
    bool told = g->told[e->depth + 1];
    if (!is_added(g->cage->workspace, e->st) && is_changed(g, e->st, told) &&
        !tc_steers_new(g->cage, g->item, e))
        tc_row_note(g, e, &(struct tc_row){.kind = "modified", .by_time = true});
}

static void visit_bound_root(struct tc_gathering *g)
{
    struct statx st;
    struct tc_walk_entry e = {.dirfd = g->item->fd, .name = "", .relative = "", .st = &st};
    if (statx(g->item->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
        g->found->omitted_changes++;
    else if (is_changed(g, &st, g->told[0]))
        tc_row_note(g, &e, &(struct tc_row){.kind = "modified", .by_time = true});
}

/* The change is not staged, so it is lost without a commit. */
static void visit_overlay_root(struct tc_gathering *g)
{
    const struct tc_item *item = g->item;
    unsigned made = tc_overlay_mode(g->cage->workspace, item);
    struct statx st;
    struct tc_row row = {.kind = "modified"};
    struct tc_walk_entry e = {.dirfd = item->copy, .name = "", .relative = "", .st = &st};
    if (statx(item->copy, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0 || !made ||
        tc_rights(st.stx_mode) == tc_rights(made))
        return;
    size_t first = tc_carry_next(g);
    row.held = g->commit ? tc_commit_root_mode(g->cage, item, made, st.stx_mode) : tc_commit_undone;
    tc_row_note(g, &e, &row);
    tc_carry_link(g, first);
}

/* Lists a change of the granted directory itself, which is not an entry of the walk. */
static void visit_root(struct tc_gathering *g)
{
    if (g->item->copy < 0)
        visit_bound_root(g);
    else if (g->item->layers >= 0 && g->item->writable && !g->cage->workspace->choice)
        visit_overlay_root(g);
}

/* Is this a forged object that kept its times when its directory was moved there? */
static bool is_moved_object(struct tc_gathering *g, const struct tc_walk_entry *e)
{
    char id[TC_OBJECT_ID_SIZE];
    struct statx dir;
    tc_object_id(e->relative, id);
    return id[0] && tc_item_steers(g->item, e->relative) == TC_STEERS_WRITTEN &&
           (statx(e->dirfd, "", AT_EMPTY_PATH, STATX_CTIME, &dir) < 0 ||
            since(g->cage->workspace, &dir.stx_ctime)) &&
           !tc_row_checked(g, e);
}

/* Lists changed entries of a bind mount. A new directory is listed here, other changes of a
 * directory by leave(). New steering files are listed whatever their times are, because a moved
 * directory keeps the times of its entries. */
static int visit(void *userdata, const struct tc_walk_entry *e)
{
    struct tc_gathering *g = userdata;
    const struct tc_workspace *w = g->cage->workspace;
    if (moved_away(g, e)) {
        g->found->omitted_changes++;
        return 1;
    }
    bool added = is_added(w, e->st);
    if (added || (since(w, &e->st->stx_ctime) && !S_ISDIR(e->st->stx_mode)))
        tc_row_note(g, e, &(struct tc_row){.kind = added ? "added" : "modified", .by_time = true});
    else if (tc_steers_new(g->cage, g->item, e) || is_moved_object(g, e))
        tc_row_note(g, e, &(struct tc_row){.kind = "added", .by_time = true});
    g->told[e->depth + 1] = false;
    if (w->inline_collect && e->depth >= TC_INLINE_COLLECT_DEPTH)
        return -1;
    return S_ISDIR(e->st->stx_mode) ? tc_workspace_kernel_fs(e) : 0;
}

/* Why a change is not committed, without a look at the host. A steering file waits for an approval
 * that says so, and keeps the mark. */
static const char *stays_away(const struct tc_gathering *g, const char *relative, unsigned mode,
                              bool guarded)
{
    if (guarded || (g->asks && tc_commit_steers(g->cage, g->item, relative, mode)))
        return tc_commit_steering;
    return g->asks ? tc_commit_waits : tc_commit_undone;
}

/* Is the change staged? Never for a file of the policy: approving work must not change the grant of
 * the next call. */
static bool is_kept(const char *held)
{
    return held == tc_commit_conflict || held == tc_commit_waits || held == tc_commit_steering;
}

/* Reads the configuration of repositories above the name, which can declare more steering files.
 * False: out of memory. */
static bool learned(const struct tc_gathering *g, const char *relative)
{
    struct tc_trees *t = g->cage->trees;
    return !g->item->context ||
           tc_item_learn_above(t, &t->items[g->item - t->items], relative) == 0;
}

/* A staged directory is stored with other permissions than the tool set: the list has the real
 * ones. */
static const struct tc_walk_entry *as_made(const struct tc_gathering *g,
                                           const struct tc_walk_entry *e,
                                           struct tc_walk_entry *made, struct statx *st)
{
    const struct tc_workspace *w = g->cage->workspace;
    const struct tc_held_row *row = tc_choice_row(w->choice, g->item, e->relative);
    const struct tc_copied *base = tc_commit_base(w, g->item, e->relative);
    if (!w->choice || !S_ISDIR(e->st->stx_mode))
        return e;
    *st = *e->st;
    if (row && row->mode)
        st->stx_mode = (uint16_t)row->mode;
    else if (base)
        st->stx_mode = (uint16_t)base->copy.mode; /* only a parent directory */
    *made = *e;
    made->st = st;
    return made;
}

/* Why a change that the user did not choose stays staged: the same reason as before. */
static const char *unchosen(const struct tc_gathering *g, const char *relative, bool guarded)
{
    const struct tc_held_row *row = tc_choice_row(g->cage->workspace->choice, g->item, relative);
    if (guarded || (row && row->held && !strcmp(row->held, tc_commit_steering)))
        return tc_commit_steering;
    return row && row->held && !strcmp(row->held, tc_commit_conflict) ? tc_commit_conflict
                                                                      : tc_commit_waits;
}

/* Is it a file that git trusts, and that is not verified? */
static bool is_doubted(const struct tc_gathering *g, const struct tc_walk_entry *e,
                       const struct tc_row *row)
{
    return (g->commit || g->asks) && !row->checked && !S_ISDIR(e->st->stx_mode) &&
           tc_commit_trusted(g->cage, g->item, e->relative);
}

/* Of a cache that another call wrote meanwhile, the newest version stays. */
static const char *commit_entry(struct tc_gathering *g, const struct tc_walk_entry *e,
                                const struct tc_row *row)
{
    struct tc_workspace *w = g->cage->workspace;
    const char *held = tc_commit_entry(g->cage, g->item, e);
    if (held != tc_commit_conflict || w->choice || !S_ISREG(e->st->stx_mode))
        return held;
    const struct tc_cache_change change = {.kind = row->kind,
                                           .relative = e->relative,
                                           .mode = e->st->stx_mode,
                                           .was_mode =
                                               (unsigned)tc_row_mode_before(g, e->relative)};
    if (!tc_cache_of(&g->cage->plan->caches, &change))
        return held;
    w->overwrite = true;
    held = tc_commit_entry(g->cage, g->item, e);
    w->overwrite = false;
    return held;
}

/* Compares an entry of a copied or overlaid workspace with its state when the call began. */
static int visit_copy(void *userdata, const struct tc_walk_entry *walked)
{
    struct tc_gathering *g = userdata;
    struct tc_walk_entry made;
    struct statx st;
    const struct tc_walk_entry *e = as_made(g, walked, &made, &st);
    enum tc_choice_fate fate = tc_choice_fate(g->cage->workspace->choice, g->item, e->relative);
    struct tc_row row = {.kind = tc_commit_kind(g->cage->workspace, g->item, e)};
    g->sets_mode[e->depth] = false;
    tc_commit_enter(g->cage->workspace, e->depth);
    if (!row.kind || S_ISCHR(e->st->stx_mode) || fate == TC_CHOICE_GOES)
        return 0; /* a whiteout is a removal */
    if (!learned(g, e->relative))
        return -1;
    bool guarded = tc_commit_guarded(g->item, e->relative, e->st->stx_mode);
    bool deep = e->depth >= DEEPEST;
    const char *left_out = tc_commit_left_out(g->item, e->st->stx_mode);
    _auto_(tc_row_look_done) struct tc_row_look look;
    row.checked = tc_row_checked(g, e);
    tc_row_look_at(g, e, &row, &look);
    size_t first = tc_carry_next(g), listed = g->found->change_count;
    errno = deep ? ENAMETOOLONG : 0;
    row.held = deep                      ? tc_commit_undone
               : left_out                ? left_out
               : fate == TC_CHOICE_STAYS ? unchosen(g, e->relative, guarded)
               : is_doubted(g, e, &row)  ? tc_commit_steering
               : g->commit               ? commit_entry(g, e, &row)
                                         : stays_away(g, e->relative, e->st->stx_mode, guarded);
    g->sets_mode[e->depth] = g->commit && !row.held && S_ISDIR(e->st->stx_mode);
    tc_carry_undone(g, e->relative, row.held);
    row.cache = guarded || g->full
                    ? 0
                    : tc_cache_entry(g->cage, g->item, e,
                                     &(struct tc_cache_change){
                                         .kind = row.kind,
                                         .was_mode = (unsigned)tc_row_mode_before(g, e->relative)},
                                     row.held);
    if (!guarded && is_kept(row.held))
        tc_save_entry(
            &g->keeping, g->cage, g->item, e,
            &(struct tc_save){
                .kind = row.kind, .held = row.held, .cache = row.cache, .checked = row.checked});
    if (row.held)
        tc_session_keep_entry(&g->session, g->cage, g->item, e, row.kind, row.held);
    tc_row_add(g, e, &row, &look);
    if (g->found->change_count > listed)
        tc_carry_link(g, first);
    return deep;
}

/* Decides about the permissions of a committed directory, after its entries: they may forbid
 * creating entries. */
static void leave_copy(void *userdata, const struct tc_walk_entry *walked)
{
    struct tc_gathering *g = userdata;
    struct tc_walk_entry made;
    struct statx st;
    if (!g->sets_mode[walked->depth])
        return;
    const struct tc_walk_entry *e = as_made(g, walked, &made, &st);
    if (tc_commit_mode(g->cage, g->item, e) < 0)
        tc_carry_undone(g, e->relative, tc_commit_undone);
}

static int find_doubted(void *userdata, const struct tc_walk_entry *e)
{
    struct tc_gathering *g = userdata;
    if (S_ISDIR(e->st->stx_mode) || S_ISCHR(e->st->stx_mode) || !tc_trusted_holds(e->relative) ||
        !tc_commit_kind(g->cage->workspace, g->item, e))
        return 0;
    const struct tc_row row = {.checked = tc_row_checked(g, e)};
    return is_doubted(g, e, &row) ? -1 : 0;
}

/* Does the host still need this object? git removes objects after packing them, and the new pack
 * may not be committed. */
static bool is_needed(struct tc_gathering *g, const struct tc_copied *entry)
{
    const struct tc_choice *choice = g->cage->workspace->choice;
    const struct tc_held_row *row = tc_choice_row(choice, g->item, entry->relative);
    if (!(g->commit || g->asks) || !tc_commit_trusted(g->cage, g->item, entry->relative))
        return false;
    if (tc_trusted_index(entry->relative))
        return true;
    if (choice)
        return !row || !row->held || !strcmp(row->held, tc_commit_steering);
    if (!g->looked) {
        struct tc_walk walk = {.visit = find_doubted, .userdata = g, .entries_max = ENTRIES_MAX};
        g->doubted = tc_walk(&walk, g->item->copy) < 0 || walk.skipped;
        g->looked = true;
    }
    return g->doubted;
}

/* Was it moved to a name that steers the host? The new name is staged, and only there would be what
 * the file holds. */
static bool is_moved(const struct tc_gathering *g, const struct tc_copied *entry)
{
    const struct tc_workspace *w = g->cage->workspace;
    const struct tc_version *was = &entry->host;
    for (size_t i = 0; !w->choice && S_ISREG(was->mode) && i < w->moved_count; i++)
        if (w->moved[i].item == entry->item && w->moved[i].size == was->size &&
            tc_time_same(&w->moved[i].mtime, &was->mtime))
            return true;
    return false;
}

/* *kept: the last entry that steers the host. Its directories stay, too. */
static const char *remove_entry(const struct tc_gathering *g, const struct tc_copied *entry,
                                const char **kept)
{
    const char *held = is_moved(g, entry) ? tc_commit_steering : tc_commit_removal(g->cage, entry);
    if (held == tc_commit_conflict && *kept && tc_path_within(entry->relative, *kept))
        held = tc_commit_steering;
    if (held == tc_commit_steering)
        *kept = entry->relative;
    return held;
}

/* Finds removed entries, each before its directory. */
static void gather_removals(struct tc_gathering *g)
{
    struct tc_workspace *w = g->cage->workspace;
    const char *kept = NULL;
    for (size_t i = w->copied_count; i-- > 0;) {
        const struct tc_copied *entry = &w->copied[i];
        enum tc_commit_fate fate = entry->item == g->item ? tc_commit_fate(entry) : TC_COMMIT_STAYS;
        if (fate == TC_COMMIT_STAYS)
            continue;
        if (fate == TC_COMMIT_UNSEEN) {
            tc_carry_undone(g, entry->relative, tc_commit_undone);
            g->found->omitted_changes++;
            continue;
        }
        enum tc_choice_fate choice = tc_choice_fate(w->choice, g->item, entry->relative);
        struct tc_row row = {.kind = "deleted"};
        if (choice == TC_CHOICE_GOES)
            continue;
        if (!learned(g, entry->relative)) {
            g->found->omitted_changes++;
            continue;
        }
        bool guarded = tc_tree_guards_below(g->item, entry->relative);
        size_t first = tc_carry_next(g);
        row.held = choice == TC_CHOICE_STAYS ? unchosen(g, entry->relative, guarded)
                   : is_needed(g, entry)     ? tc_commit_steering
                   : g->commit               ? remove_entry(g, entry, &kept)
                               : stays_away(g, entry->relative, entry->host.mode, guarded);
        tc_carry_undone(g, entry->relative, row.held);
        if (fate == TC_COMMIT_REPLACED)
            continue; /* its replacement is listed */
        if (!guarded && is_kept(row.held))
            tc_save_removal(&g->keeping, g->cage, entry, row.held);
        if (row.held)
            tc_session_keep_removal(&g->session, g->cage, entry, row.held);
        enum tc_steers steers = tc_item_steers(g->item, entry->relative);
        row.steers = row.held == tc_commit_steering || (row.held && steers != TC_STEERS_WRITTEN &&
                                                        tc_steers_as(steers, entry->host.mode));
        struct tc_change *c = tc_row_list(g, entry->relative, &row);
        if (c) {
            c->was_mode = tc_row_mode_before(g, entry->relative);
            tc_carry_link(g, first);
        }
    }
}

/* A database whose last changes are in a file that is deleted with the private directory: neither
 * that nor the database without it may replace the host's. */
static void refuse_database(struct tc_gathering *g, const struct tc_walk_entry *e,
                            const char *suffix)
{
    const char *path = g->item->mount->from;
    struct tc_row row = {.kind = "modified", .held = tc_commit_undone};
    tc_row_note(g, e, &row);
    (void)tc_cage_fail(
        &(struct tc_cage){.outcome = g->found},
        TC_WHY(TOOLCAGE_EBACKEND, "collect", path,
               "grant its directory for writing, or let the tool close the database"),
        TC_CLAUSE_FS_WRITE,
        "%s was not written back: it is a database, and its last changes are in "
        "%s%s, which is not granted",
        path, g->item->name, suffix);
}

/* A single writable file, in its private directory. */
static void gather_file(struct tc_gathering *g)
{
    const struct tc_item *item = g->item;
    struct statx st;
    gather_removals(g);
    if (statx(item->copy, item->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0) {
        g->undone += errno != ENOENT; /* removed */
        return;
    }
    if (S_ISCHR(st.stx_mode)) /* a whiteout */
        return;
    struct tc_walk_entry e = {
        .dirfd = item->copy, .name = item->name, .relative = item->host_name, .st = &st};
    const char *suffix = tc_tree_companion(item->copy, item->name);
    if (suffix)
        refuse_database(g, &e, suffix);
    else
        (void)visit_copy(g, &e);
}

/* Does a single writable file have this name in the private directory? */
static bool granted_in(const struct tc_trees *t, const struct tc_item *single_dir,
                       const char *relative)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].name && t->items[i].copy == single_dir->copy &&
            strcmp(t->items[i].name, relative) == 0)
            return true;
    return false;
}

/* Changes of files that the tool may only read are not committed, and the result says so. */
static int visit_single_dir(void *userdata, const struct tc_walk_entry *e)
{
    struct tc_gathering *g = userdata;
    if (S_ISDIR(e->st->stx_mode) || granted_in(g->cage->trees, g->item, e->relative) ||
        tc_workspace_denied(g->cage, g->item, e->relative))
        return 0;
    _autofd_ int below = tc_resolve_beneath(g->item->fd, e->relative);
    if (below >= 0 || !tc_resolve_gone(errno))
        tc_row_note(g, e, &(struct tc_row){.kind = "modified", .held = tc_commit_undone});
    return 0;
}

/* 0, or -1: not every change was seen, so the commit may be incomplete and the call fails. */
static int gather_tree(struct tc_gathering *g)
{
    struct tc_workspace *w = g->cage->workspace;
    bool copied = g->item->copy >= 0;
    if (copied && g->item->writable)
        gather_removals(g);
    /* a copy is limited by `disk`, and half a commit is useless */
    struct tc_walk walk = {
        .visit = g->item->single_dir ? visit_single_dir
                 : copied            ? visit_copy
                                     : visit,
        .leave = copied ? leave_copy : leave,
        .userdata = g,
        .entries_max = w->inline_collect ? TC_INLINE_COLLECT_ENTRIES : ENTRIES_MAX,
        .deadline_us = copied ? 0 : tc_now_us() + (int64_t)SECONDS_MAX * 1000000};
    g->told[0] = false;
    if (tc_walk(&walk, copied ? g->item->copy : g->item->fd) < 0)
        walk.skipped++;
    else if (walk.skipped && copied)
        tc_workspace_left(g->cage, g->item, walk.left);
    visit_root(g);
    w->over = w->over || (w->inline_collect && walk.skipped); /* a process has higher limits */
    g->found->omitted_changes += walk.skipped;
    if (g->item->layers >= 0 && !g->item->single_dir)
        tc_session_keep_skipped(&g->session, walk.skipped);
    return copied && g->commit && walk.skipped ? -1 : 0;
}

bool tc_workspace_commits(const struct tc_cage *cage, bool commit)
{
    const struct tc_trees *t = cage->trees;
    bool bind = cage->plan->workspace == TC_WORKSPACE_BIND;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].copy >= 0 && (commit || (bind && t->items[i].name)))
            return true;
    return false;
}

/* Records the host's entries under the changes of the layers. 0, or -1: incomplete. */
static int compare_overlays(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].layers >= 0 && !t->items[i].single_dir &&
            tc_overlay_compare(cage, &t->items[i]) < 0)
            return -1;
    return 0;
}

static void gathering_done(struct tc_gathering *g)
{
    tc_reader_done(&g->reader);
    tc_strv_done(&g->trusted.sound);
    free(g->undone_path);
}

/* Is every change listed, and did nothing fail? */
static bool rows_told(const struct tc_gathering *g)
{
    return !g->undone && !g->found->failure.code && !g->cage->outcome->failure.code &&
           !g->found->omitted_changes;
}

/* The limit of bytes to read; a commit is limited already. 0: the usual one. */
static int64_t bytes_to_read(const struct tc_workspace *w)
{
    return w->inline_collect && !w->committing ? TC_INLINE_COLLECT_BYTES : 0;
}

/* Do all changes wait for approval? */
static bool asks(const struct tc_cage *cage, bool commit)
{
    return !commit && cage->plan->workspace != TC_WORKSPACE_BIND &&
           cage->plan->commit == TC_COMMIT_ASK;
}

/* Reports changes that were not committed, and stores those that are staged. */
static void end_gathering(struct tc_gathering *g, bool waits)
{
    const struct tc_choice *choice = g->cage->workspace->choice;
    if (g->undone)
        (void)tc_not_brought_back(g->found, g->undone_path, g->undone_errno, g->undone,
                                  choice  ? "the changes stay staged: commit them again when the "
                                            "cause is gone, or discard them"
                                  : waits ? "toolcage commits the rest when it starts next: make "
                                            "room first; `toolcage doctor` lists it"
                                          : "`changes` says which were committed: those without "
                                            "`held`");
    if (g->undone && choice) {
        tc_keeping_drop(&g->keeping); /* the stored changes are not replaced */
        return;
    }
    if (rows_told(g) && !g->full && (!choice || choice->plain))
        tc_keeping_shed(&g->keeping, g->found, choice ? NULL : tc_commit_steering);
    if (tc_keeping_end(&g->keeping) < 0)
        (void)tc_not_kept(g->cage, g->found);
}

static void gather_item(struct tc_gathering *g)
{
    const struct tc_item *item = g->item;
    int rc = 0;
    tc_strv_done(&g->trusted.sound);
    g->looked = false;
    tc_commit_item(g->cage->workspace);
    if (item->name && !item->part)
        gather_file(g);
    else if ((item->writable && !item->part) || item->layers >= 0)
        rc = gather_tree(g);
    if (rc < 0)
        (void)tc_not_gathered(g->cage->workspace, g->found);
}

/* False: nothing could be committed, and nothing is staged. `full`: after that. */
static bool gather_all(struct tc_cage *cage, bool commit, bool full, struct tc_outcome *found)
{
    struct tc_trees *t = cage->trees;
    struct tc_workspace *w = cage->workspace;
    _auto_(gathering_done) struct tc_gathering g = {
        .cage = cage, .found = found, .asks = full || asks(cage, commit), .full = full};
    g.reader.most = bytes_to_read(w);
    g.trusted.left = TC_TRUSTED_MAX;
    g.trusted.unreviewed = !g.asks && !w->choice;
    tc_keeping_begin(&g.keeping, w->held, cage->plan);
    g.keeping.must |= full;
    tc_session_keep_begin(&g.session, cage);
    for (size_t i = 0; i < t->item_count; i++) {
        g.item = &t->items[i];
        /* through a bind mount the host would have every change, however the tool ended */
        g.commit = commit || (!full && g.item->name && cage->plan->workspace == TC_WORKSPACE_BIND);
        gather_item(&g);
    }
    enum tc_commit_end carried = tc_carry_out(&g);
    if (carried == TC_COMMIT_NONE) {
        tc_keeping_drop(&g.keeping);
        tc_session_keep_drop(&g.session, cage);
        return false;
    }
    w->over |= g.reader.most && g.reader.refused;
    end_gathering(&g, carried == TC_COMMIT_WAITS);
    tc_session_keep_end(&g.session, cage, found);
    return true;
}

/* Half a commit is worse than none: if there is no room for all new versions, all changes are
 * staged, as they are already in a commit of staged changes. */
static void gather_whole(struct tc_cage *cage, bool commit, struct tc_outcome *found)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_outcome first = {0};
    tc_commit_begin(w);
    bool done = gather_all(cage, commit, false, &first);
    if (done) {
        tc_workspace_merge(found, &first);
    } else {
        const struct tc_steps *steps = TAKE(w->steps);
        if (!w->choice)
            (void)gather_all(cage, false, true, found);
        (void)tc_not_written(found, steps->where, steps->errnum, cage->plan->call);
    }
    tc_outcome_done(&first);
}

/* Commits nothing without a journal: an interruption would not be completed. */
void tc_workspace_gather_into(struct tc_cage *cage, bool commit, struct tc_outcome *found)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_journal journal = {.fd = -1};
    struct tc_steps steps;
    bool commits = tc_workspace_commits(cage, commit);
    int rc = commits ? -1 : 0;
    tc_layers_release(w);
    for (int tries = 0; rc < 0 && tries < 8; tries++) {
        tc_journal_end(&journal);
        rc = tc_journal_begin(&journal, w->journals, cage->plan->tool, w->inline_collect != NULL);
    }
    if (rc < 0)
        (void)tc_not_gathered(w, found);
    tc_steps_begin(&steps, journal.temporary, cage->trees->host->privileged);
    w->journal = &journal;
    w->steps = commits && rc == 0 ? &steps : NULL;
    if (compare_overlays(cage) < 0)
        (void)tc_not_gathered(w, found);
    else
        gather_whole(cage, commit, found);
    tc_journal_end(&journal);
    tc_steps_done(&steps);
    w->journal = NULL;
    w->steps = NULL;
}
