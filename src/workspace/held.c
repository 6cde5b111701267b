/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shows, commits or discards staged changes. The commit uses the same code as the end of a call. */
#include "workspace/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "state/store.h"
#include "workspace/choice.h"
#include "workspace/journal.h"
#include "workspace/reading.h"

enum { LIST_MAX = 512 << 20, ID_LENGTH = 26, LOCK_US = 5000000 };

static int fail_held(struct tc_outcome *outcome, const char *call, int code, const char *hint,
                     const char *what)
{
    return tc_cage_fail(&(struct tc_cage){.outcome = outcome},
                        TC_WHY_ERRNO(code, "changes", call, errno, hint), -1, "%s %s", what, call);
}

/* An id is 26 letters and digits, so it can name nothing else in the directory. */
static bool is_id(const char *name)
{
    return strlen(name) == ID_LENGTH &&
           strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ID_LENGTH;
}

static int read_list(int own, struct tc_held_list *ret)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = LIST_MAX;
    if (tc_read_file(own, "list", &text) < 0)
        return -1;
    struct tc_wire w = TC_WIRE_GET_INIT(text.data, text.len);
    tc_held_visit(&w, ret);
    if (!w.failed && !w.left)
        return 0;
    errno = EBADMSG;
    return -1;
}

/* ---- all calls ---- */

static int add_waiting(struct tc_outcome *o, const struct tc_held_list *list)
{
    struct tc_waiting *w = TC_PUSH(o->waiting, o->waiting_count);
    if (!w)
        return -1;
    *w = (struct tc_waiting){
        .call = strdup(list->call), .tool = list->tool ? strdup(list->tool) : NULL, .at = list->at};
    for (size_t i = 0; i < list->row_count; i++) {
        w->changes += list->rows[i].kind != NULL;
        w->caches += list->rows[i].kind && list->rows[i].cache;
    }
    return w->call && !w->tool == !list->tool ? 0 : -1;
}

/* The newest first: ids increase with time. */
static int by_age(const void *a, const void *b)
{
    const struct tc_waiting *x = a, *y = b;
    return strcmp(y->call, x->call);
}

int tc_held_calls(struct tc_outcome *outcome)
{
    int fd = tc_held_look();
    _autodir_ DIR *dir = tc_take_dir(fd);
    struct dirent *e;
    int more = dir || errno == ENOENT ? 0 : -1; /* or nothing was ever staged */
    while (dir && (more = tc_next_entry(dir, &e)) > 0) {
        if (!is_id(e->d_name))
            continue;
        _autofd_ int own = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (own < 0 && errno != ENOENT)
            return fail_held(outcome, e->d_name, TOOLCAGE_ESYSTEM, "look into the state directory",
                             "cannot open the staged changes of call");
        struct tc_held_list list = {0};
        int rc = own >= 0 && read_list(own, &list) == 0 ? add_waiting(outcome, &list) : 0;
        tc_held_list_done(&list);
        if (rc < 0)
            return tc_cage_fail_memory(&(struct tc_cage){.outcome = outcome}, "changes");
    }
    if (outcome->waiting)
        qsort(outcome->waiting, outcome->waiting_count, sizeof(*outcome->waiting), by_age);
    return more == 0 ? 0
                     : fail_held(outcome, "held", TOOLCAGE_ESYSTEM, "look into the state directory",
                                 "cannot list the staged changes in");
}

static bool is_left(int own, const char *name)
{
    (void)own;
    return tc_endswith(name, ".new");
}

unsigned tc_held_sweep(void)
{
    _autofd_ int all = tc_held_look();
    return tc_store_sweep(all, is_left);
}

/* ---- one call ---- */

/* Adds the tool's version of an entry: its type and permissions, the target of a link, and the
 * bytes of a small file. */
static bool add_content(int own, const struct tc_held_list *list, const struct tc_held_row *row,
                        struct tc_reader *reader, struct tc_outcome *o)
{
    const struct tc_held_tree *tree = &list->trees[row->tree];
    struct tc_change *c = &o->changes[o->change_count - 1];
    struct statx st;
    _autofree_ char *place =
        tc_format("%lld/%s", (long long)row->tree, tree->name ? tree->name : row->relative);
    if (!place)
        return false;
    /* the tool may have replaced a directory by a link: a removed entry is not searched behind
     * it */
    const char *name = tc_path_base(place);
    _autofd_ int dir = tc_resolve_parent(own, place);
    if (dir < 0 || statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return tc_resolve_gone(errno); /* a removal */
    c->bytes = (int64_t)st.stx_size;
    c->mode = row->mode ? row->mode : st.stx_mode;
    if (S_ISLNK(st.stx_mode))
        return (c->target = tc_link_target(dir, name)) != NULL;
    if (!S_ISREG(st.stx_mode))
        return true;
    struct tc_walk_entry e = {.dirfd = dir, .name = name, .relative = place, .st = &st};
    struct tc_reading reading;
    tc_reading_make(reader, &e, true, &reading);
    struct tc_file *f = reading.no_memory ? NULL : TC_PUSH(o->files, o->file_count);
    if (f) {
        c->sha256 = reading.sha256 ? strdup(reading.sha256) : NULL;
        *f = (struct tc_file){.path = strdup(c->path),
                              .bytes = reading.bytes,
                              .sha256 = TAKE(reading.sha256),
                              .content = TAKE(reading.content),
                              .content_len = (size_t)reading.bytes};
    }
    tc_reading_done(&reading);
    return f && f->path && !c->sha256 == !f->sha256;
}

static int show_held(int own, const struct tc_choice *choice, struct tc_outcome *o)
{
    const struct tc_held_list *list = choice->list;
    struct tc_reader reader = {0};
    bool fine = true;
    for (size_t i = 0; i < list->row_count && fine; i++) {
        const struct tc_held_row *row = &list->rows[i];
        const struct tc_held_tree *tree = &list->trees[row->tree];
        if (!row->kind || !choice->chosen[i])
            continue;
        struct tc_change *c = TC_PUSH(o->changes, o->change_count);
        if (c)
            *c = (struct tc_change){.path = tc_held_path(tree, row),
                                    .kind = strdup(row->kind),
                                    .held = row->held ? strdup(row->held) : NULL,
                                    .was_mode = row->was ? row->host.mode : 0,
                                    .cache = row->cache,
                                    .verified = row->checked,
                                    .host = tc_path_join(tree->root, row->relative)};
        fine = c && c->path && c->kind && c->host && add_content(own, list, row, &reader, o);
    }
    tc_reader_done(&reader);
    return fine ? 0 : tc_cage_fail_memory(&(struct tc_cage){.outcome = o}, "changes");
}

/* A cage that has ended: only its workspace is left. */
struct past {
    struct tc_plan plan;
    struct tc_trees trees;
    struct tc_workspace workspace;
    struct tc_cage cage;
    struct tc_mount *mounts;
};

static int open_root(const struct tc_held_tree *tree)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    _autofd_ int fd = tc_openat2(AT_FDCWD, tree->root, &how);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if ((int64_t)st.st_ino != tree->inode) {
        errno = ESTALE;
        return -1;
    }
    return TAKE_FD(fd);
}

/* Uses the steering names from the end of the call. */
static int restore_item(struct past *past, int own, size_t index, const struct tc_held_list *list)
{
    const struct tc_held_tree *tree = &list->trees[index];
    struct tc_trees *t = &past->trees;
    char number[24];
    (void)snprintf(number, sizeof(number), "%zu", index);
    past->mounts[index] =
        (struct tc_mount){.kind = TC_MOUNT_WRITE, .path = tree->path, .from = tree->from};
    struct tc_item *item = &t->items[t->item_count++];
    *item = (struct tc_item){.mount = &past->mounts[index],
                             .path = tree->path,
                             .writable = true,
                             .directory = !tree->name,
                             .layers = -1,
                             .steering = &list->steering,
                             .context = tree->name ? NULL : tree->root,
                             .uid = (uid_t)tree->uid,
                             .gid = (gid_t)tree->gid,
                             .name = tree->name,
                             .host_name = tree->host_name};
    item->fd = tc_tree_keep(t, open_root(tree));
    item->copy =
        item->fd < 0
            ? -1
            : tc_tree_keep(t, openat(own, number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (item->copy < 0)
        return -1;
    return item->context ? tc_item_learn_around(t, item) : 0;
}

static int restore(struct past *past, int own, struct tc_held_list *list)
{
    struct tc_trees *t = &past->trees;
    struct tc_workspace *w = &past->workspace;
    size_t count = list->tree_count + list->named.count;
    past->mounts = tc_arena_alloc(&t->arena, (count + 1) * sizeof(*past->mounts));
    t->items = tc_arena_alloc(&t->arena, (count + 1) * sizeof(*t->items));
    past->plan.denies =
        tc_arena_alloc(&t->arena, (list->denies.count + 1) * sizeof(*past->plan.denies));
    if (!past->mounts || !t->items || !past->plan.denies)
        return -1;
    for (size_t i = 0; i < list->denies.count; i++)
        past->plan.denies[past->plan.deny_count++].path = list->denies.items[i];
    for (size_t i = 0; i < list->tree_count; i++)
        if (restore_item(past, own, i, list) < 0)
            return -1;
    for (size_t i = 0; i < list->named.count; i++)
        t->items[t->item_count++] = (struct tc_item){
            .path = list->named.items[i], .part = true, .fd = -1, .copy = -1, .layers = -1};
    for (size_t i = 0; i < list->row_count; i++) {
        const struct tc_held_row *row = &list->rows[i];
        struct tc_copied *entry = row->was ? TC_PUSH(w->copied, w->copied_count) : NULL;
        if (row->was && !entry)
            return -1;
        if (entry)
            *entry = (struct tc_copied){.item = &t->items[row->tree],
                                        .relative = row->relative,
                                        .copy.mode = row->host.mode,
                                        .host = row->host};
    }
    return 0;
}

static void past_done(struct past *past)
{
    free(past->workspace.copied);
    tc_trees_done(&past->trees);
}

/* `audit` goes to the changes that stay staged. */
static int bring_back(int own, struct tc_held_list *list, struct tc_choice *choice, bool overwrite,
                      char *audit, struct tc_outcome *outcome)
{
    struct past past = {.plan.audit = audit,
                        .trees.host = &tc_tree_host,
                        .workspace = {.overwrite = overwrite, .choice = choice}};
    choice->trees = &past.trees;
    const char *where = "";
    past.plan.call = list->call;
    past.plan.tool = list->tool;
    past.plan.workspace = TC_WORKSPACE_COPY;
    past.plan.commit = TC_COMMIT_ASK; /* failing to stage the rest again is an error */
    past.workspace.journals = tc_tree_keep(&past.trees, tc_journal_open(&where));
    past.workspace.held = tc_tree_keep(&past.trees, tc_held_open(NULL));
    past.cage = (struct tc_cage){
        .plan = &past.plan, .outcome = outcome, .workspace = &past.workspace, .trees = &past.trees};
    int rc = 0;
    if (past.workspace.journals < 0 || past.workspace.held < 0)
        rc = fail_held(outcome, list->call, TOOLCAGE_EPATH, "make the state directory writable",
                       "cannot write a journal of the changes of call");
    else if (restore(&past, own, list) < 0)
        rc = fail_held(outcome, list->call, TOOLCAGE_EPATH,
                       "move the directories that the call changed back to their paths",
                       "cannot apply the changes of call");
    else
        tc_workspace_gather_into(&past.cage, true, outcome);
    past_done(&past);
    return rc;
}

/* Carries out `action` for the chosen part of the list. */
static int settle_list(int own, struct tc_held_list *list, enum tc_held_action action,
                       const struct tc_strv *paths, char *audit, struct tc_outcome *outcome)
{
    _auto_(tc_choice_done) struct tc_choice choice = {.discards = action == TC_HELD_DISCARD,
                                                      .commits = action != TC_HELD_SHOW &&
                                                                 action != TC_HELD_DISCARD,
                                                      .steering = action == TC_HELD_STEERING};
    ssize_t made = tc_choice_make(&choice, list, paths);
    if (made < 0)
        return tc_cage_fail_memory(&(struct tc_cage){.outcome = outcome}, "changes");
    if (made > 0) {
        errno = 0;
        return fail_held(outcome, paths->items[made - 1], TOOLCAGE_EUSAGE,
                         "`toolcage changes CALL` lists them", "no change is staged at");
    }
    return action == TC_HELD_SHOW
               ? show_held(own, &choice, outcome)
               : bring_back(own, list, &choice, action == TC_HELD_OVERWRITE, audit, outcome);
}

/* Are the changes those that a person has seen? */
static int check_seen(int own, struct tc_held_list *list, const char *seen,
                      struct tc_outcome *outcome)
{
    static const char hint[] = "look at them again: toolcage changes CALL";
    char digest[TC_DIGEST_SIZE];
    if (tc_held_digest(own, list, digest) < 0)
        return fail_held(outcome, list->call, TOOLCAGE_EBACKEND, hint,
                         "cannot read all staged changes of call");
    errno = 0;
    return strcmp(digest, seen) == 0
               ? 0
               : fail_held(outcome, list->call, TOOLCAGE_EDENIED, hint,
                           "the staged changes are no longer those that were shown, of call");
}

/* A digest that cannot be made approves nothing. */
static int note_seen(int own, struct tc_held_list *list, struct tc_outcome *outcome)
{
    char digest[TC_DIGEST_SIZE];
    bool made = tc_held_digest(own, list, digest) == 0;
    outcome->seen = made ? strdup(digest) : NULL;
    return !made || outcome->seen
               ? 0
               : tc_cage_fail_memory(&(struct tc_cage){.outcome = outcome}, "changes");
}

static int discard_all(int dir, const char *call, struct tc_outcome *outcome)
{
    return tc_remove_tree(dir, call) == 0
               ? 0
               : fail_held(outcome, call, TOOLCAGE_ESYSTEM, "look into the state directory",
                           "cannot remove the changes of call");
}

static int settle_seen(int own, struct tc_held_list *list, enum tc_held_action action,
                       const struct tc_strv *paths, const char *seen, char *audit,
                       struct tc_outcome *outcome)
{
    int rc = seen ? check_seen(own, list, seen, outcome) : 0;
    if (rc == 0)
        rc = settle_list(own, list, action, paths, audit, outcome);
    if (rc == 0 && action == TC_HELD_SHOW && !paths->count)
        rc = note_seen(own, list, outcome);
    return rc;
}

/* A list that cannot be read can still be discarded, so it is no failure here. */
static int tell_about(int own, struct tc_held_list *list, struct tc_outcome *outcome)
{
    if (!outcome->audit || read_list(own, list) < 0)
        return 0;
    return add_waiting(outcome, list) == 0
               ? note_seen(own, list, outcome)
               : tc_cage_fail_memory(&(struct tc_cage){.outcome = outcome}, "changes");
}

/* Carries out the action under the lock of the changes. */
static int settle_locked(int dir, int own, const char *call, enum tc_held_action action,
                         const struct tc_strv *paths, const char *seen, struct tc_outcome *outcome)
{
    _auto_(tc_held_list_done) struct tc_held_list list = {0};
    _autofree_ char *audit = NULL;
    if (tc_held_audit(own, &audit) < 0)
        return fail_held(
            outcome, call, TOOLCAGE_EBACKEND,
            "see who owns the file audit of the call, below held in the state directory",
            "cannot read how to record the changes of call");
    if (action == TC_HELD_ABOUT) {
        outcome->audit = TAKE(audit);
        return tell_about(own, &list, outcome);
    }
    if (action == TC_HELD_DISCARD && !paths->count && !seen)
        return discard_all(dir, call, outcome);
    if (read_list(own, &list) < 0)
        return fail_held(outcome, call, TOOLCAGE_EBACKEND,
                         "discard them; their files are in the state directory, below held",
                         "cannot read the list of changes of call");
    return settle_seen(own, &list, action, paths, seen, audit, outcome);
}

static int fail_gone(struct tc_outcome *outcome, const char *call)
{
    errno = 0;
    return fail_held(outcome, call, TOOLCAGE_EUSAGE,
                     "`toolcage changes` lists the calls that have any",
                     "there are no staged changes of a call");
}

int tc_held_settle(const char *call, enum tc_held_action action, const struct tc_strv *paths,
                   const char *seen, struct tc_outcome *outcome)
{
    _autofd_ int dir = is_id(call) ? tc_held_look() : (errno = ENOENT, -1);
    _autofd_ int own =
        dir < 0 ? -1 : openat(dir, call, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool reads = action == TC_HELD_SHOW || action == TC_HELD_ABOUT;
    if (own < 0) {
        if (errno != ENOENT)
            return fail_held(outcome, call, TOOLCAGE_ESYSTEM, "look into the state directory",
                             "cannot open the staged changes of call");
        return fail_gone(outcome, call);
    }
    /* a process that was cloned during an earlier request may still hold the lock */
    struct stat st;
    if (tc_store_wait(own, reads ? LOCK_SH : LOCK_EX, LOCK_US) < 0)
        return fail_held(
            outcome, call, TOOLCAGE_EBACKEND, "try again when it has ended",
            "another program is reading, committing or discarding the changes of call");
    if (fstat(own, &st) == 0 && !st.st_nlink)
        return fail_gone(outcome, call);
    return settle_locked(dir, own, call, action, paths, seen, outcome);
}
