/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Decides how a private workspace is committed to the host. Runs in the collector, a child of the
 * helper, after the tool has ended. Each target is compared with its state when it was copied; the
 * steps are applied when all are known (apply.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "tree/steering.h"
#include "workspace/choice.h"
#include "workspace/copy.h"
#include "workspace/journal.h"
#include "workspace/layer.h"
#include "workspace/steps.h"

const char tc_commit_steering[] = TOOLCAGE_HELD_STEERING;
const char tc_commit_waits[] = TOOLCAGE_HELD_APPROVAL;
static const char left_out[] =
    "not committed"; /* a type that is never committed, so this is not a failure */

static int by_place(const void *a, const void *b)
{
    const struct tc_copied *x = a, *y = b;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return strcmp(x->relative, y->relative);
}

void tc_commit_begin(struct tc_workspace *w)
{
    if (w->copied)
        qsort(w->copied, w->copied_count, sizeof(*w->copied), by_place);
}

const struct tc_copied *tc_commit_base(const struct tc_workspace *w, const struct tc_item *item,
                                       const char *relative)
{
    struct tc_copied key = {.item = item, .relative = relative};
    return w->copied ? bsearch(&key, w->copied, w->copied_count, sizeof(key), by_place) : NULL;
}

static bool same_type(const struct tc_version *version, unsigned mode)
{
    return (version->mode & S_IFMT) == (mode & S_IFMT);
}

static bool same_rights(const struct tc_version *version, unsigned mode)
{
    return tc_rights(version->mode) == tc_rights(mode);
}

const char *tc_commit_kind(const struct tc_workspace *w, const struct tc_item *item,
                           const struct tc_walk_entry *e)
{
    const struct tc_copied *entry = tc_commit_base(w, item, e->relative);
    struct tc_version now = tc_workspace_version(e->st);
    if (!entry)
        return "added";
    if (!same_type(&entry->copy, now.mode))
        return "modified";
    if (S_ISDIR(now.mode))
        return same_rights(&entry->copy, now.mode) ? NULL : "modified";
    return tc_version_same(&entry->copy, &now) ? NULL : "modified";
}

/* Why a path was not committed, by errno: its directory on the host has changed (a conflict), or
 * the directory could not be used. */
static const char *elsewhere(void)
{
    return tc_resolve_gone(errno) || errno == EXDEV ? tc_commit_conflict : tc_commit_undone;
}

/* A directory of the workspace, on the host and in the private copy; -1: missing. */
struct both {
    int hosts, ours;
    struct tc_steps *steps; /* may be NULL */
    const char *place;
};

/* Will a step remove it? Then the decision depends on that step. */
static bool goes(const struct both *b, const char *name)
{
    _autofree_ char *path = b->place[0] ? tc_path_join(b->place, name) : strdup(name);
    bool gone = b->steps && path && tc_steps_remove(b->steps, path);
    if (gone)
        b->steps->leans = true;
    return gone;
}

static bool has(const struct both *b, const char *name)
{
    return (b->hosts >= 0 && tc_steers_there(b->hosts, name) && !goes(b, name)) ||
           (b->ours >= 0 && tc_steers_there(b->ours, name));
}

/* Does git treat the directory as a bare repository? */
static bool is_bare(const struct both *b)
{
    return has(b, "HEAD") && ((has(b, "objects") && has(b, "refs")) || has(b, "commondir"));
}

/* Is it a steering file of a bare repository, which git discovers automatically? That is its
 * configuration, a link (git writes through it), or a name that completes a bare repository in a
 * directory whose configuration is already on the host. The other names may be on the host, in the
 * private copy, or partly in both. */
static bool steers_in(struct tc_steps *s, const struct tc_item *item, const char *place,
                      const char *name, bool link)
{
    const unsigned when = tc_bare_when(name);
    bool steering = link || when & TC_BARE_BACK, steered = false;
    if ((!steering && !(when & TC_BARE_MAKES)) || tc_item_is_git(item, place))
        return false;
    const char *at = place[0] ? place : ".";
    _autofd_ int hosts = tc_resolve_beneath(item->fd, at);
    bool seen = hosts >= 0 || tc_resolve_gone(errno);
    _autofd_ int ours = tc_resolve_beneath(item->copy, at);
    if (!seen || (ours < 0 && !tc_resolve_gone(errno)))
        return true;
    const struct both b = {hosts, ours, s, place}, alone = {hosts, -1, s, place};
    for (const struct tc_bare *piece = tc_bare; piece->name; piece++)
        steered = steered || (piece->when & TC_BARE_BACK && has(&alone, piece->name));
    return is_bare(&b) && (steering || (steered && !is_bare(&alone)));
}

/* Does a component of the path complete or steer a bare repository? */
static bool steers_bare(struct tc_steps *s, const struct tc_item *item, const char *relative,
                        bool link)
{
    char place[PATH_MAX], name[NAME_MAX + 1];
    tc_strcopy(place, sizeof(place), relative);
    for (char *at = place; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        char kept = *at;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/"), at);
        *at = '\0';
        if (at > place) /* also removes the slash before it, to get the directory's path */
            at[-1] = '\0';
        bool found = steers_in(s, item, place, name, link);
        if (at > place)
            at[-1] = '/';
        *at = kept;
        if (found)
            return true;
    }
    return false;
}

/* Would the change of this entry change a steering file? (`.git` is one only as a file or link,
 * which points to another directory.) */
static bool steers(struct tc_steps *s, const struct tc_item *item, const char *relative,
                   unsigned mode)
{
    bool link = !S_ISREG(mode) && !S_ISDIR(mode);
    return tc_steers_as(tc_item_steers(item, relative), mode) ||
           steers_bare(s, item, relative, link);
}

bool tc_commit_guarded(const struct tc_item *item, const char *relative, unsigned mode)
{
    return tc_tree_guards(item, relative) ||
           (!S_ISDIR(mode) && tc_tree_guards_below(item, relative));
}

/* Does the grant name exactly this file as writable? Then it may be changed although it is a
 * steering file. */
static bool named(const struct tc_trees *t, const struct tc_item *item, const char *relative)
{
    if (item->name)
        return true;
    _autofree_ char *path = tc_path_join(item->path, relative);
    for (size_t i = 0; path && i < t->item_count; i++)
        if (t->items[i].part && strcmp(t->items[i].path, path) == 0)
            return true;
    return false;
}

/* Has a person approved changes of steering files? That never includes toolcage's own files. */
static bool is_approved(const struct tc_workspace *w)
{
    return w->choice && w->choice->steering;
}

bool tc_commit_trusted(const struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    return tc_item_steers(item, relative) == TC_STEERS_WRITTEN && !is_approved(cage->workspace) &&
           !named(cage->trees, item, relative);
}

bool tc_commit_steers(const struct tc_cage *cage, const struct tc_item *item, const char *relative,
                      unsigned mode)
{
    if (tc_commit_guarded(item, relative, mode))
        return true;
    if (is_approved(cage->workspace))
        return item->context && tc_steers_own(item->context, relative);
    return !named(cage->trees, item, relative) &&
           steers(cage->workspace->steps, item, relative, mode);
}

/* Will the directory that contains the entry be made by a step? */
static bool in_new(const struct tc_workspace *w, int depth)
{
    return w->steps->fresh[depth];
}

void tc_commit_item(const struct tc_workspace *w)
{
    if (!w->steps)
        return;
    w->steps->removals = w->steps->removals_end = w->steps->count;
    w->steps->apart[0] = TC_STEPS_UNSEEN;
}

void tc_commit_enter(const struct tc_workspace *w, int depth)
{
    if (!w->steps)
        return;
    w->steps->fresh[depth + 1] = false;
    w->steps->apart[depth + 1] = TC_STEPS_UNSEEN;
}

/* Does the directory of the entries at this depth have another quota than the layer, or is it on
 * another disk, so that no file can be renamed to it? */
static bool is_apart(const struct tc_workspace *w, const struct tc_item *item, int depth, int dir)
{
    enum tc_steps_apart *apart = &w->steps->apart[depth];
    if (item->near && *apart == TC_STEPS_UNSEEN)
        *apart = tc_layer_apart(item, dir) ? TC_STEPS_APART : TC_STEPS_NEAR;
    return *apart == TC_STEPS_APART;
}

static const char *add_step(const struct tc_cage *cage, const struct tc_item *item,
                            const char *relative, const struct tc_step *step)
{
    struct tc_step *added = tc_steps_add(cage->workspace->steps, cage, item, step->kind, relative);
    if (!added)
        return tc_commit_undone;
    const struct tc_step its = *added;
    *added = *step;
    added->root = its.root;
    added->relative = its.relative;
    added->row = its.row;
    added->leans = cage->workspace->steps->leans;
    added->bare = is_approved(cage->workspace) || tc_step_bare(item->fd, added);
    return NULL;
}

/* ---- staged on the host's disk ---- */

/* The nearest directory above the entry that the host has already, in `above`; an fd, or -1. */
static int open_above(const struct tc_workspace *w, const struct tc_item *item,
                      const struct tc_walk_entry *e, char above[PATH_MAX])
{
    tc_strcopy(above, PATH_MAX, e->relative);
    int depth = item->name ? 0 : e->depth;
    do {
        char *slash = strrchr(above, '/');
        *(slash ? slash : above) = '\0';
    } while (in_new(w, depth) && depth-- > 0);
    return tc_resolve_beneath(item->fd, above[0] ? above : ".");
}

static bool is_place(const struct tc_step_place *p, size_t root, const char *above)
{
    return p->made && p->root == root && strcmp(p->above, above) == 0;
}

/* Makes the place for staged files, which a sweep would find. Files of different directories have
 * different places: another tool may reach one directory and not the other. A number is never used
 * again, because a sweep counts the places that were noted. -1 with errno. */
static int64_t make_place(struct tc_workspace *w, const struct tc_step *step, int dir,
                          const char *above, bool alone)
{
    enum { NEAR = 64 }; /* a directory may have several places */
    struct tc_steps *s = w->steps;
    char name[TC_STEP_NAME];
    size_t oldest = s->place_count > NEAR ? s->place_count - NEAR : 0;
    for (size_t i = s->place_count; !alone && i-- > oldest;)
        if (is_place(&s->places[i], step->root, above))
            return (int64_t)i;
    errno = ENOMEM;
    char *owned = strdup(above);
    struct tc_step_place *p = owned ? TC_PUSH(s->places, s->place_count) : NULL;
    if (!p) {
        free(owned);
        return -1;
    }
    *p = (struct tc_step_place){.root = step->root, .above = owned, .alone = alone};
    int64_t number = (int64_t)s->place_count - 1;
    tc_steps_place_name(s, (size_t)number, name);
    if (tc_journal_stage(w->journal, s, p) < 0 || (!alone && mkdirat(dir, name, 0700) < 0))
        return -1;
    p->made = !alone;
    return number;
}

/* Writes the new version where a rename can give it its name. */
static int write_version(const struct tc_cage *cage, const struct tc_item *item,
                         const struct tc_walk_entry *e, struct tc_step *step)
{
    char name[TC_STEP_NAME];
    struct statx st;
    _autofd_ int dir = tc_steps_open_place(cage->workspace->steps, (size_t)step->place);
    if (dir < 0)
        return -1;
    tc_steps_file_name(cage->workspace->steps, step, name);
    int rc = tc_workspace_copy_entry(e, dir, name);
    if (rc == 0)
        rc = tc_workspace_copy_times(dir, name, e->st);
    if (rc == 0 && cage->trees->host->privileged)
        rc = tc_step_give(dir, name, e->st->stx_mode & S_IFMT, item->uid, item->gid);
    if (rc == 0)
        rc = statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
    if (rc == 0) {
        step->now = tc_workspace_version(&st);
        return 0;
    }
    int saved = errno;
    (void)unlinkat(dir, name, 0);
    errno = saved;
    return -1;
}

/* Without space for one new version nothing is committed. */
static const char *stage(const struct tc_cage *cage, const struct tc_item *item,
                         const struct tc_walk_entry *e)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_steps *s = w->steps;
    struct tc_step *step = &s->steps[s->count - 1];
    char above[PATH_MAX];
    if (s->errnum)
        return NULL;
    _autofd_ int dir = open_above(w, item, e, above);
    step->place = dir < 0 ? -1 : make_place(w, step, dir, above, item->name != NULL);
    if (step->place >= 0 && write_version(cage, item, e, step) == 0)
        return NULL;
    if (tc_steps_waits(tc_commit_undone, errno)) {
        s->errnum = errno;
        s->where = item->mount->from;
        return NULL;
    }
    int saved = errno;
    free(step->relative);
    s->count--;
    errno = saved;
    return tc_commit_undone;
}

/* ---- directories ---- */

/* The mode of an existing directory may change only if the host did not change it. */
static const char *check_directory(const struct tc_workspace *w, const struct tc_item *item,
                                   const struct tc_walk_entry *e, const struct stat *st)
{
    const struct tc_copied *base = tc_commit_base(w, item, e->relative);
    if (!S_ISDIR(st->st_mode))
        return tc_commit_conflict;
    if (!base || !S_ISDIR(base->copy.mode) || same_rights(&base->copy, e->st->stx_mode))
        return NULL;
    return w->overwrite || same_rights(&base->host, st->st_mode) ? NULL : tc_commit_conflict;
}

static const char *make_directory(const struct tc_cage *cage, const struct tc_item *item,
                                  const struct tc_walk_entry *e, int dir)
{
    struct tc_workspace *w = cage->workspace;
    struct stat st;
    if (dir >= 0 && fstatat(dir, tc_path_base(e->relative), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISDIR(st.st_mode) || !tc_steps_remove(w->steps, e->relative))
            return check_directory(w, item, e, &st);
    } else if (dir >= 0 && errno != ENOENT) {
        return elsewhere();
    }
    const char *held =
        add_step(cage, item, e->relative,
                 &(struct tc_step){
                     .kind = TC_STEP_MAKE, .place = -1, .made = tc_rights(e->st->stx_mode) | 0700});
    if (!held) {
        (void)is_apart(w, item, e->depth, dir);
        w->steps->apart[e->depth + 1] = w->steps->apart[e->depth];
        w->steps->fresh[e->depth + 1] = true;
    }
    return held;
}

/* Decides about the permissions of a host directory that should have the mode `made`. 1: it has
 * another. */
static int add_mode(const struct tc_cage *cage, const struct tc_item *item, const char *relative,
                    unsigned made, unsigned mode)
{
    struct statx st;
    _autofd_ int fd = tc_resolve_beneath(item->fd, relative[0] ? relative : ".");
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
        return -1;
    if (!S_ISDIR(st.stx_mode) || tc_rights(st.stx_mode) == mode)
        return 0;
    errno = ESTALE;
    if (cage->trees->host->privileged && st.stx_uid != item->uid)
        return -1;
    if (tc_rights(st.stx_mode) != made && !cage->workspace->overwrite)
        return 1;
    struct tc_step step = {
        .kind = TC_STEP_MODE, .place = -1, .made = tc_rights(st.stx_mode), .mode = mode};
    tc_step_expect(&step, &st);
    return add_step(cage, item, relative, &step) ? -1 : 0;
}

/* A directory that the host created under this name meanwhile keeps its mode. */
int tc_commit_mode(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e)
{
    const struct tc_copied *base = tc_commit_base(cage->workspace, item, e->relative);
    unsigned mode = tc_rights(e->st->stx_mode);
    if (!in_new(cage->workspace, e->depth + 1))
        return base && S_ISDIR(base->copy.mode) &&
                       add_mode(cage, item, e->relative, tc_rights(base->host.mode), mode)
                   ? -1
                   : 0;
    const struct tc_step step = {
        .kind = TC_STEP_MODE, .place = -1, .made = mode | 0700, .mode = mode, .fresh = true};
    return step.made != mode && add_step(cage, item, e->relative, &step) ? -1 : 0;
}

const char *tc_commit_root_mode(const struct tc_cage *cage, const struct tc_item *item,
                                unsigned made, unsigned mode)
{
    int rc = add_mode(cage, item, "", tc_rights(made), tc_rights(mode));
    return rc > 0 ? tc_commit_conflict : rc < 0 ? tc_commit_undone : NULL;
}

/* ---- files and links ---- */

/* Is the host's target still the one that was copied? NULL: yes, and *step expects it. */
static const char *check_target(const struct tc_workspace *w, const struct tc_copied *entry,
                                int dir, const struct tc_walk_entry *e, struct tc_step *step)
{
    struct statx st;
    bool replaced = entry && !same_type(&entry->copy, e->st->stx_mode);
    if (dir < 0) /* in a new directory */
        return entry && !replaced && !w->overwrite ? tc_commit_conflict : NULL;
    if (statx(dir, tc_path_base(e->relative), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &st) < 0)
        return errno != ENOENT                       ? elsewhere()
               : entry && !replaced && !w->overwrite ? tc_commit_conflict
                                                     : NULL;
    if (replaced) /* or the old entry stays */
        return tc_steps_remove(w->steps, e->relative) ? NULL : tc_commit_conflict;
    tc_step_expect(step, &st);
    if (w->overwrite && !S_ISDIR(st.stx_mode))
        return NULL;
    return entry && tc_version_same(&entry->host, &step->was) ? NULL : tc_commit_conflict;
}

/* Does the host have the tool's version already, from a call that ran meanwhile? A file that the
 * tool could not read is not compared for it. */
static bool is_there(const struct tc_cage *cage, const struct tc_item *item,
                     const struct tc_walk_entry *e, int dir)
{
    struct statx host;
    return dir >= 0 && !item->name &&
           statx(dir, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &host) == 0 &&
           (!cage->trees->host->privileged || host.stx_uid == item->uid) &&
           tc_overlay_same(e, dir, &host);
}

/* Makes the tool's own file the host's, or a copy of it. */
static const char *replace(const struct tc_cage *cage, const struct tc_item *item,
                           const struct tc_walk_entry *e, int dir)
{
    struct tc_workspace *w = cage->workspace;
    const struct tc_copied *entry = tc_commit_base(w, item, e->relative);
    struct tc_step step = {.kind = TC_STEP_PUT, .place = -1, .now = tc_workspace_version(e->st)};
    const char *problem = check_target(w, entry, dir, e, &step);
    if (problem)
        return problem == tc_commit_conflict && is_there(cage, item, e, dir) ? NULL : problem;
    problem = add_step(cage, item, e->relative, &step);
    bool moves = !problem && !is_apart(w, item, e->depth, dir) && tc_layer_moves(cage, item, e);
    return problem || moves ? problem : stage(cage, item, e);
}

const char *tc_commit_left_out(const struct tc_item *item, unsigned mode)
{
    bool comes = S_ISREG(mode) || (!item->name && (S_ISLNK(mode) || S_ISDIR(mode)));
    return comes ? NULL : left_out;
}

/* A link there would lead the denied name to another file. */
static bool is_above_denied(const struct tc_cage *cage, const struct tc_item *item,
                            const char *relative)
{
    _autofree_ char *path = tc_path_join(item->path, relative);
    for (size_t i = 0; i < cage->plan->deny_count; i++)
        if (!path || tc_path_within(path, cage->plan->denies[i].path))
            return true;
    return false;
}

const char *tc_commit_entry(struct tc_cage *cage, const struct tc_item *item,
                            const struct tc_walk_entry *e)
{
    const struct tc_workspace *w = cage->workspace;
    unsigned mode = e->st->stx_mode;
    if (tc_commit_left_out(item, mode))
        return left_out;
    if (w->steps)
        w->steps->leans = false;
    if (!item->name && (tc_workspace_denied(cage, item, e->relative) ||
                        (S_ISLNK(mode) && is_above_denied(cage, item, e->relative))))
        return "denied";
    if (tc_commit_steers(cage, item, e->relative, mode))
        return tc_commit_steering;
    if (!w->steps) /* there is no journal */
        return tc_commit_undone;
    bool fresh = !item->name && in_new(w, e->depth);
    _autofd_ int dir = fresh ? -1 : tc_resolve_parent(item->fd, e->relative);
    if (dir < 0 && !fresh)
        return elsewhere();
    return S_ISDIR(mode) ? make_directory(cage, item, e, dir) : replace(cage, item, e, dir);
}

/* A single file is not replaced by other types; a whiteout means that it was removed. */
static enum tc_commit_fate file_fate(const struct tc_item *item)
{
    struct stat st;
    if (fstatat(item->copy, item->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? TC_COMMIT_GONE : TC_COMMIT_UNSEEN;
    return S_ISCHR(st.st_mode) ? TC_COMMIT_GONE : TC_COMMIT_STAYS;
}

enum tc_commit_fate tc_commit_fate(const struct tc_copied *entry)
{
    struct stat st;
    if (entry->item->name)
        return file_fate(entry->item);
    _autofd_ int dir = tc_resolve_parent(entry->item->copy, entry->relative);
    if (dir < 0 || fstatat(dir, tc_path_base(entry->relative), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return tc_resolve_gone(errno) ? TC_COMMIT_GONE : TC_COMMIT_UNSEEN;
    if (S_ISCHR(st.st_mode)) /* a whiteout */
        return TC_COMMIT_GONE;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode))
        return TC_COMMIT_STAYS; /* the type that replaced it is never committed */
    return same_type(&entry->copy, st.st_mode) ? TC_COMMIT_STAYS : TC_COMMIT_REPLACED;
}

/* Would the removal of this entry steer the host? */
static bool keeps(const struct tc_cage *cage, const struct tc_copied *entry)
{
    const struct tc_item *item = entry->item;
    return tc_tree_guards_below(item, entry->relative) ||
           (tc_commit_steers(cage, item, entry->relative, entry->host.mode) &&
            !(item->context && tc_steers_packaged(item->context, entry->relative)));
}

/* Is nothing in the directory but what earlier steps remove? If it cannot be read, its removal
 * will show that. */
static bool is_emptied(const struct tc_steps *s, int dir, const char *relative)
{
    char path[PATH_MAX];
    struct dirent *e;
    _autodir_ DIR *all = tc_take_dir(
        openat(dir, tc_path_base(relative), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    while (all && tc_next_entry(all, &e) > 0) {
        int n = snprintf(path, sizeof(path), "%s/%s", relative, e->d_name);
        if (n < 0 || (size_t)n >= sizeof(path) || !tc_steps_remove(s, path))
            return false;
    }
    return true;
}

const char *tc_commit_removal(const struct tc_cage *cage, const struct tc_copied *entry)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_step step = {.kind = TC_STEP_REMOVE, .place = -1};
    bool directory = S_ISDIR(entry->host.mode);
    struct statx st;
    if (w->steps)
        w->steps->leans = false;
    if (keeps(cage, entry))
        return tc_commit_steering;
    if (!w->steps)
        return tc_commit_undone;
    _autofd_ int dir = tc_resolve_parent(entry->item->fd, entry->relative);
    if (dir < 0)
        return elsewhere();
    if (statx(dir, tc_path_base(entry->relative), AT_SYMLINK_NOFOLLOW,
              STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
        return errno == ENOENT ? NULL : elsewhere();
    tc_step_expect(&step, &st);
    if (!same_type(&entry->host, st.stx_mode) ||
        (directory ? !is_emptied(w->steps, dir, entry->relative)
                   : !w->overwrite && !tc_version_same(&entry->host, &step.was)))
        return tc_commit_conflict;
    const char *held = add_step(cage, entry->item, entry->relative, &step);
    w->steps->removals_end = w->steps->count;
    return held;
}
