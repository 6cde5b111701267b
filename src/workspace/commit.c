/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Commits a private workspace to the host. Runs in the collector, a child of the helper, after the
 * tool has ended. Each target is compared with its state when it was copied. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/result.h>

#include "base/path.h"
#include "tree/steering.h"
#include "workspace/choice.h"
#include "workspace/copy.h"
#include "workspace/journal.h"
#include "workspace/layer.h"

const char tc_commit_conflict[] = "conflict";
const char tc_commit_steering[] = TOOLCAGE_HELD_STEERING;
const char tc_commit_waits[] = TOOLCAGE_HELD_APPROVAL;
static const char left_out[] =
    "not committed"; /* a type that is never committed, so this is not a failure */
const char tc_commit_undone[] = "not committed";

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
    return ((version->mode ^ mode) & 0777) == 0;
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
};

static bool has(const struct both *b, const char *name)
{
    return (b->hosts >= 0 && tc_steers_there(b->hosts, name)) ||
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
static bool steers_in(const struct tc_item *item, const char *place, const char *name, bool link)
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
    const struct both b = {hosts, ours}, alone = {hosts, -1};
    for (const struct tc_bare *piece = tc_bare; piece->name; piece++)
        steered = steered || (piece->when & TC_BARE_BACK && has(&alone, piece->name));
    return is_bare(&b) && (steering || (steered && !is_bare(&alone)));
}

/* Does a component of the path complete or steer a bare repository? */
static bool steers_bare(const struct tc_item *item, const char *relative, bool link)
{
    char place[PATH_MAX], name[NAME_MAX + 1];
    tc_strcopy(place, sizeof(place), relative);
    for (char *at = place; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        char kept = *at;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/"), at);
        *at = '\0';
        if (at > place) /* also removes the slash before it, to get the directory's path */
            at[-1] = '\0';
        bool found = steers_in(item, place, name, link);
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
static bool steers(const struct tc_item *item, const char *relative, unsigned mode)
{
    bool link = !S_ISREG(mode) && !S_ISDIR(mode);
    return tc_steers_as(tc_item_steers(item, relative), mode) || steers_bare(item, relative, link);
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
    return !named(cage->trees, item, relative) && steers(item, relative, mode);
}

/* Gives a new entry to the owner of the workspace. The owner may have replaced it meanwhile, so
 * only an entry that this process made and that has a single name is given. */
static int give(const struct tc_item *item, int dir, const char *name, unsigned type)
{
    struct stat st;
    _autofd_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if ((st.st_mode & S_IFMT) != type || st.st_uid != geteuid() ||
        (type != S_IFDIR && st.st_nlink != 1)) {
        errno = ESTALE;
        return -1;
    }
    return st.st_uid == item->uid && st.st_gid == item->gid
               ? 0
               : fchownat(fd, "", item->uid, item->gid, AT_EMPTY_PATH);
}

/* Writes the new version under a temporary name next to the old one. */
static int make_version(const struct tc_cage *cage, const struct tc_item *item,
                        const struct tc_walk_entry *e, int dir)
{
    const char *name = cage->workspace->journal->temporary;
    int rc = tc_workspace_copy_entry(e, dir, name);
    if (rc == 0)
        rc = tc_workspace_copy_times(dir, name, e->st);
    return rc == 0 && cage->trees->host->privileged
               ? give(item, dir, name, e->st->stx_mode & S_IFMT)
               : rc;
}

/* The mode of an existing directory may change only if the host did not change it. */
static const char *check_directory(const struct tc_workspace *w, const struct tc_item *item,
                                   const struct tc_walk_entry *e, int dir)
{
    const struct tc_copied *base = tc_commit_base(w, item, e->relative);
    struct stat st;
    if (fstatat(dir, tc_path_base(e->relative), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return elsewhere();
    if (!S_ISDIR(st.st_mode))
        return tc_commit_conflict;
    if (!base || !S_ISDIR(base->copy.mode) || same_rights(&base->copy, e->st->stx_mode))
        return NULL;
    return w->overwrite || same_rights(&base->host, st.st_mode) ? NULL : tc_commit_conflict;
}

/* A new directory is writable until its entries are committed; then it gets its permissions. */
static const char *commit_directory(const struct tc_workspace *w, const struct tc_item *item,
                                    const struct tc_walk_entry *e, int dir, bool given)
{
    const char *name = tc_path_base(e->relative);
    if (mkdirat(dir, name, (e->st->stx_mode & 0777) | 0700) < 0)
        return errno == EEXIST ? check_directory(w, item, e, dir) : elsewhere();
    if (given && give(item, dir, name, S_IFDIR) < 0)
        return tc_commit_undone;
    return NULL;
}

/* Sets the permissions of a host directory that has the mode `made`. 1: it has another. */
static int set_mode(const struct tc_cage *cage, const struct tc_item *item, int fd, unsigned made,
                    unsigned mode)
{
    struct stat st;
    char path[64];
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if ((st.st_mode & 0777) == mode)
        return 0;
    errno = ESTALE;
    if (cage->trees->host->privileged && st.st_uid != item->uid)
        return -1;
    if ((st.st_mode & 0777) != made && !cage->workspace->overwrite)
        return 1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, (st.st_mode & 07000) | mode);
}

/* A directory that the host created under this name meanwhile keeps its mode. */
int tc_commit_mode(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e)
{
    const struct tc_copied *base = tc_commit_base(cage->workspace, item, e->relative);
    bool was = base && S_ISDIR(base->copy.mode);
    unsigned mode = e->st->stx_mode & 0777, made = was ? base->host.mode & 0777 : mode | 0700;
    _autofd_ int dir = tc_resolve_parent(item->fd, e->relative);
    _autofd_ int fd = dir < 0 ? -1
                              : openat(dir, tc_path_base(e->relative),
                                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = set_mode(cage, item, fd, made, mode);
    return rc > 0 && !was ? 0 : rc ? -1 : 0;
}

const char *tc_commit_root_mode(const struct tc_cage *cage, const struct tc_item *item,
                                unsigned made, unsigned mode)
{
    int rc = set_mode(cage, item, item->fd, made & 0777, mode & 0777);
    return rc > 0 ? tc_commit_conflict : rc < 0 ? tc_commit_undone : NULL;
}

/* Has the host not changed the file since? `now` is its state. The commit is about to take this
 * name away from it: out of memory, the other names are conflicts. */
static bool is_base(struct tc_workspace *w, const struct tc_version *base, const struct statx *now)
{
    struct tc_version found = tc_workspace_version(now), expected = *base;
    for (size_t i = 0; i < w->linked_count; i++)
        if (w->linked[i] == found.inode)
            expected.ctime = found.ctime;
    if (!tc_version_same(&expected, &found))
        return false;
    uint64_t *inode = now->stx_nlink > 1 ? TC_PUSH(w->linked, w->linked_count) : NULL;
    if (inode)
        *inode = found.inode;
    return true;
}

/* Is the host's target still the one that was copied? NULL: yes, and *ret is its version; inode 0:
 * there is none. */
static const char *check_target(struct tc_workspace *w, const struct tc_copied *entry, int dir,
                                const char *name, unsigned mode, struct tc_version *ret)
{
    struct statx st;
    bool replaced = entry && !same_type(&entry->copy, mode);
    *ret = (struct tc_version){0};
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return errno != ENOENT                       ? elsewhere()
               : entry && !replaced && !w->overwrite ? tc_commit_conflict
                                                     : NULL;
    *ret = tc_workspace_version(&st);
    if (replaced)
        return tc_commit_conflict; /* the old entry could not be removed */
    if (w->overwrite && !S_ISDIR(ret->mode))
        return NULL;
    return entry && is_base(w, &entry->host, &st) ? NULL : tc_commit_conflict;
}

/* Is the exchanged entry the version that was checked? Its ctime is not compared, because the
 * exchange changes it. */
static bool was_exchanged(int dir, const char *name, struct tc_version expected)
{
    struct statx st;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return false;
    struct tc_version now = tc_workspace_version(&st);
    expected.ctime = now.ctime;
    return tc_version_same(&expected, &now);
}

/* Where the new version of a file is before it gets its name on the host. */
struct made {
    int dir;
    const char *name;
};

/* Installs the new version by one rename, so that readers see the old or the new version. If
 * another process replaces the name at this moment, its version is not lost: the rename is undone.
 */
static const char *replace_name(const struct made *made, int dir, const char *name,
                                struct tc_version old)
{
    if (!old.inode) {
        if (renameat2(made->dir, made->name, dir, name, RENAME_NOREPLACE) == 0)
            return NULL;
        if (errno != EINVAL) /* the file system does not support the flag */
            return errno == EEXIST ? tc_commit_conflict : elsewhere();
    } else {
        if (renameat2(made->dir, made->name, dir, name, RENAME_EXCHANGE) == 0) {
            if (was_exchanged(made->dir, made->name, old))
                return NULL;
            if (renameat2(made->dir, made->name, dir, name, RENAME_EXCHANGE) < 0)
                (void)renameat2(made->dir, made->name, dir, name, RENAME_NOREPLACE);
            return tc_commit_conflict;
        }
        if (errno != EINVAL)
            return elsewhere();
    }
    return renameat(made->dir, made->name, dir, name) == 0 ? NULL : elsewhere();
}

/* Starts to write the data to the disk, so that after a power failure the file is not empty. File
 * systems do that themselves for a rename over another file, but not for RENAME_EXCHANGE. */
static void begin_writing(const struct made *made)
{
    _autofd_ int fd = openat(made->dir, made->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static const char *install(const struct made *made, int dir, const struct tc_walk_entry *e,
                           struct tc_version old)
{
    if (old.inode && S_ISREG(e->st->stx_mode))
        begin_writing(made);
    return replace_name(made, dir, tc_path_base(e->relative), old);
}

/* Writes the new version first, so that the check of the target comes right before the rename. */
static const char *replace_by_copy(const struct tc_cage *cage, const struct tc_item *item,
                                   const struct tc_walk_entry *e, int dir)
{
    struct tc_workspace *w = cage->workspace;
    const struct made made = {dir, w->journal->temporary};
    const struct tc_copied *entry = tc_commit_base(w, item, e->relative);
    const char *name = tc_path_base(e->relative);
    struct tc_version old;
    const char *problem = make_version(cage, item, e, dir) < 0
                              ? tc_commit_undone
                              : check_target(w, entry, dir, name, e->st->stx_mode, &old);
    if (!problem)
        problem = install(&made, dir, e, old);
    int saved = errno;
    (void)unlinkat(dir, made.name, 0);
    errno = saved;
    return problem;
}

/* Does the host have the tool's version already, from a call that ran meanwhile? A file that the
 * tool could not read is not compared for it. */
static bool is_there(const struct tc_cage *cage, const struct tc_item *item,
                     const struct tc_walk_entry *e, int dir)
{
    struct statx host;
    return !item->name && statx(dir, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &host) == 0 &&
           (!cage->trees->host->privileged || host.stx_uid == item->uid) &&
           tc_overlay_same(e, dir, &host);
}

/* Makes the tool's own file the host's. A quota of the directory can forbid the rename (EXDEV). */
static const char *replace(const struct tc_cage *cage, const struct tc_item *item,
                           const struct tc_walk_entry *e, int dir)
{
    struct tc_workspace *w = cage->workspace;
    const struct tc_copied *entry = tc_commit_base(w, item, e->relative);
    struct tc_version old;
    const char *problem =
        check_target(w, entry, dir, tc_path_base(e->relative), e->st->stx_mode, &old);
    if (problem)
        return problem == tc_commit_conflict && is_there(cage, item, e, dir) ? NULL : problem;
    if (tc_layer_moves(cage, item, e)) {
        problem = install(&(struct made){e->dirfd, e->name}, dir, e, old);
        if (!problem || errno != EXDEV)
            return problem;
    }
    return replace_by_copy(cage, item, e, dir);
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
    if (!item->name && (tc_workspace_denied(cage, item, e->relative) ||
                        (S_ISLNK(mode) && is_above_denied(cage, item, e->relative))))
        return "denied";
    if (tc_commit_steers(cage, item, e->relative, mode))
        return tc_commit_steering;
    _autofd_ int dir = tc_resolve_parent(item->fd, e->relative);
    if (dir < 0)
        return elsewhere();
    if (tc_journal_write(w->journal, item, e->relative) < 0)
        return tc_commit_undone;
    if (S_ISDIR(mode))
        return commit_directory(w, item, e, dir, cage->trees->host->privileged);
    return replace(cage, item, e, dir);
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

const char *tc_commit_removal(const struct tc_cage *cage, const struct tc_copied *entry)
{
    struct tc_workspace *w = cage->workspace;
    const char *name = tc_path_base(entry->relative);
    bool directory = S_ISDIR(entry->host.mode);
    struct statx st;
    if (keeps(cage, entry))
        return tc_commit_steering;
    _autofd_ int dir = tc_resolve_parent(entry->item->fd, entry->relative);
    if (dir < 0)
        return elsewhere();
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
        return errno == ENOENT ? NULL : elsewhere();
    struct tc_version now = tc_workspace_version(&st);
    if (!same_type(&entry->host, now.mode) ||
        (!directory && !w->overwrite && !is_base(w, &entry->host, &st)))
        return tc_commit_conflict;
    if (tc_journal_write(w->journal, entry->item, entry->relative) < 0)
        return tc_commit_undone;
    if (unlinkat(dir, name, directory ? AT_REMOVEDIR : 0) == 0)
        return NULL;
    return errno == ENOTEMPTY || errno == EEXIST ? tc_commit_conflict : tc_commit_undone;
}
