/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Steering files: files that programs of the user load or run automatically. Those that exist below
 * a writable tree are mounted read-only over themselves. Each directory between the tree and such a
 * file is mounted on itself, because a mount point cannot be renamed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/display.h"
#include "base/fd.h"
#include "base/path.h"
#include "linux/walk.h"
#include "tree/steering.h"
#include "tree/tree.h"

/* Beyond these limits the tree cannot be a bind, because files that were not searched are not
 * protected. */
enum { DIRECTORIES_MAX = 100000, MOUNTS_MAX = 1000 };

/* Deeper directories, or those with longer paths, are read-only as a whole. */
enum { DEEPEST = 200, LONGEST = PATH_MAX / 2 };

/* Results of a search besides 0 and -1: the directory may not be listed or searched; or it is
 * covered completely. */
enum { CLOSED = 1, COVERED };

/* Is the name a steering file? A single file is judged by its place in the host's directory. */
enum tc_steers tc_item_steers(const struct tc_item *item, const char *relative)
{
    if (!item->name && tc_item_obeyed(item, relative))
        return TC_STEERS_HOST;
    if (!item->name)
        return tc_steers(item->steering, item->context ? item->context : "", relative);
    _autofree_ char *parent = tc_path_parent(item->mount->from);
    return parent ? tc_steers(item->steering, parent, tc_path_base(item->mount->from))
                  : TC_STEERS_HOST;
}

static bool is_link(unsigned mode)
{
    return !S_ISREG(mode) && !S_ISDIR(mode);
}

bool tc_steers_as(enum tc_steers steers, unsigned mode)
{
    return steers == TC_STEERS_HOST || (steers == TC_STEERS_ROOM && !S_ISDIR(mode)) ||
           (steers == TC_STEERS_RECORD && is_link(mode));
}

struct scan {
    struct tc_cage *cage;
    const struct tc_item *item;
    struct tc_strv bound;  /* directories mounted on themselves already */
    struct tc_strv frozen; /* read-only over themselves, with everything below */
    int directories, depth;
};

static void scan_done(struct scan *s)
{
    tc_strv_done(&s->bound);
    tc_strv_done(&s->frozen);
}

static bool named(const struct scan *s, const char *path)
{
    const struct tc_trees *t = s->cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].writable && &t->items[i] != s->item && strcmp(t->items[i].path, path) == 0)
            return true;
    return false;
}

static bool is_frozen(const struct scan *s, const char *relative)
{
    for (size_t i = 0; i < s->frozen.count; i++)
        if (tc_path_below(s->frozen.items[i], relative))
            return true;
    return false;
}

/* Mounts each directory strictly between the item and `relative` on itself. */
static int bind_between(struct scan *s, const char *relative)
{
    if (is_frozen(s, relative)) /* a writable mount above would cover the read-only one */
        return 0;
    for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
        _autofree_ char *part = strndup(relative, (size_t)(slash - relative));
        if (!part)
            return -1;
        if (tc_strv_has(&s->bound, part))
            continue;
        char *path = tc_arena_format(&s->cage->trees->arena, "%s/%s", s->item->path, part);
        _autofd_ int fd = tc_resolve_beneath(s->item->fd, part);
        if (fd < 0 || !path || tc_tree_rebind(s->cage, s->item, fd, path, true) < 0 ||
            !tc_strv_add(&s->bound, part))
            return -1;
    }
    return 0;
}

/* Mounts the object of `fd`, at `relative` to the item, read-only over itself. */
static int shield(struct scan *s, int fd, const char *relative)
{
    struct tc_trees *t = s->cage->trees;
    if (is_frozen(s, relative))
        return 0;
    char *path = tc_arena_format(&t->arena, "%s/%s", s->item->path, relative);
    if (t->mount_count >= MOUNTS_MAX) {
        errno = E2BIG;
        return -1;
    }
    if (!path || bind_between(s, relative) < 0 ||
        tc_tree_rebind(s->cage, s->item, fd, path, false) < 0)
        return -1;
    return tc_strv_add(&s->frozen, relative) ? 0 : -1;
}

/* Can the tool enter this directory, which the caller could not read? Its owner can change its
 * mode; other users can enter one that is searchable but not listable. */
static bool open_to_tool(const struct scan *s, int fd, const struct stat *st)
{
    const struct tc_tree_host *host = s->cage->trees->host;
    struct stat itself;
    return st->st_uid == host->uid || (host->privileged && st->st_uid == s->item->uid) ||
           fstatat(fd, ".", &itself, 0) == 0 || errno != EACCES;
}

/* The caller may not list or search `relative` or a directory above it: that directory becomes
 * read-only as a whole if the tool can enter it. */
static int close_off(struct scan *s, const char *relative)
{
    _autofree_ char *at = strdup(relative);
    while (at) {
        struct stat st;
        _autofd_ int below = at[0] ? tc_resolve_beneath(s->item->fd, at) : -1;
        int fd = at[0] ? below : s->item->fd;
        if (fd < 0 && errno != EACCES) {
            errno = errno == ENOENT || errno == ENOTDIR ? ESTALE : errno;
            return -1;
        }
        if (fd < 0) {
            char *slash = strrchr(at, '/');
            *(slash ? slash : at) = '\0';
            continue;
        }
        if (fstat(fd, &st) < 0) /* a file system that only one user may access */
            return errno == EACCES ? 0 : -1;
        if (!open_to_tool(s, fd, &st))
            return 0;
        errno = EACCES;
        return at[0] ? shield(s, fd, at) : -1;
    }
    return -1;
}

/* Protects one steering file, at `relative` to the item; a grant that names it lifts the
 * protection, unless `always`. A link is mounted over itself; its target is content. */
static int protect(struct scan *s, const char *relative, enum tc_steers steers, bool always)
{
    _autofree_ char *path = tc_format("%s/%s", s->item->path, relative);
    if (!path)
        return -1;
    if (!always && (named(s, path) || tc_tree_guards(s->item, relative)))
        return 0;
    _autofd_ int fd = tc_resolve_object(s->item->fd, relative);
    struct stat st;
    if (fd < 0 && errno == EACCES)
        return close_off(s, relative);
    if (fd < 0) /* a link on the path: another process moves entries, so the call is refused */
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    if (fstat(fd, &st) < 0)
        return -1;
    bool record = steers == TC_STEERS_RECORD;
    bool free = S_ISDIR(st.st_mode) ? record || steers == TC_STEERS_ROOM
                                    : !S_ISLNK(st.st_mode) && (record || !S_ISREG(st.st_mode));
    return free ? 0 : shield(s, fd, relative);
}

static char *below(const char *prefix, const char *name)
{
    return prefix[0] ? tc_path_join(prefix, name) : strdup(name);
}

/* Keeps a directory from being moved, because files in it, or next to it, matter by their names. */
static int pin(struct scan *s, const char *prefix, const char *name)
{
    _autofree_ char *relative = below(prefix, name);
    return relative ? bind_between(s, relative) : -1;
}

bool tc_steers_there(int dirfd, const char *name)
{
    struct stat st;
    return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

const struct tc_bare tc_bare[] = {
    {"config", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"config.worktree", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"hooks", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"commondir", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"worktrees", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"info/attributes", TC_BARE_STOOD},
    {"branches", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"remotes", TC_BARE_STOOD | TC_BARE_NEW | TC_BARE_BACK},
    {"index", TC_BARE_NEW | TC_BARE_BACK}, /* git writes it in normal work */
    {"HEAD", TC_BARE_NEW | TC_BARE_MAKES},
    {"objects", TC_BARE_MAKES},
    {"refs", TC_BARE_MAKES},
    {NULL, 0},
};

unsigned tc_bare_when(const char *name)
{
    const struct tc_bare *b = tc_bare;
    while (b->name && strcmp(b->name, name) != 0)
        b++;
    return b->when;
}

bool tc_steers_bare(int dirfd)
{
    return tc_steers_there(dirfd, "objects") && tc_steers_there(dirfd, "refs");
}

/* Is the directory, or one above it up to the item, a bare repository? */
static bool in_bare(int dirfd, const char *path)
{
    char up[PATH_MAX] = ".";
    for (size_t n = 1; path && n + 4 < sizeof(up); n += 3) {
        _autofd_ int at = openat(dirfd, up, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at < 0 || tc_steers_bare(at))
            return true;
        path = strchr(path, '/');
        if (path)
            path++;
        memcpy(up + n, "/..", 4);
    }
    return path;
}

/* The path of the directory that holds `path`; "": the item itself. `ret` may be `path`. */
static void find_above(const char *path, char ret[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    n = n < PATH_MAX ? n : PATH_MAX - 1;
    memmove(ret, path, n);
    ret[n] = '\0';
}

bool tc_item_is_git(const struct tc_item *item, const char *relative)
{
    return tc_steers_git(item->context ? item->context : "", relative);
}

bool tc_steers_place(const struct tc_item *item, int dirfd, const char *path, unsigned mode)
{
    enum tc_steers steers = tc_item_steers(item, path);
    if (steers == TC_STEERS_RECORD ? is_link(mode) : steers != TC_STEERS_NOT)
        return true;
    if (is_link(mode) && in_bare(dirfd, path))
        return true;
    char above[PATH_MAX];
    find_above(path, above);
    if (tc_item_is_git(item, above))
        return false;
    if (tc_bare_when(tc_path_base(path)) & TC_BARE_NEW && tc_steers_bare(dirfd))
        return true;
    if (strcmp(tc_path_base(above), "hooks") != 0)
        return false;
    find_above(above, above);
    _autofd_ int fd = openat(dirfd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return !tc_item_is_git(item, above) && (fd < 0 || tc_steers_bare(fd));
}

/* Was the path protected by a read-only mount during the call, or does it belong to another granted
 * path? Then the tool cannot have changed it here. */
static bool stood_there(const struct tc_trees *t, const struct tc_item *item, const char *path)
{
    for (size_t i = 0; i < t->mount_count; i++)
        if (t->mounts[i].frozen && tc_path_below(t->mounts[i].path, path + 1))
            return true;
    for (size_t i = 0; i < t->item_count; i++)
        if (&t->items[i] != item && strlen(t->items[i].path) > strlen(item->path) &&
            tc_path_within(t->items[i].path, path))
            return true;
    return false;
}

bool tc_steers_pinned(const struct tc_trees *t, const struct tc_item *item, const char *relative)
{
    _autofree_ char *path = tc_path_join(item->path, relative);
    for (size_t i = 0; path && i < t->mount_count; i++)
        if (t->mounts[i].itself && strcmp(t->mounts[i].path, path + 1) == 0)
            return true;
    return false;
}

bool tc_steers_new(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e)
{
    const struct tc_trees *t = cage->trees;
    mode_t mode = e->st->stx_mode;
    if (t->unmounted || item->name || (!S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode)))
        return false;
    /* a directory .git is harmless, and any repository's HEAD and index change with its work */
    enum tc_steers steers = tc_item_steers(item, e->relative);
    bool own = ((strcmp(e->name, "HEAD") == 0 || strcmp(e->name, "index") == 0) && S_ISREG(mode)) ||
               steers == TC_STEERS_WRITTEN || (S_ISDIR(mode) && steers == TC_STEERS_ROOM);
    /* a link in a bare repository is listed if its times are new */
    if (own ||
        (!tc_steers_as(steers, mode) &&
         !tc_steers_place(item, e->dirfd, e->relative, S_ISLNK(mode) ? S_IFREG : mode)) ||
        tc_tree_guards(item, e->relative))
        return false;
    _autofree_ char *path = tc_format("%s/%s", item->path, e->relative);
    return !path || !stood_there(t, item, path);
}

static int search(struct scan *s, int fd, const char *prefix);

/* A bare repository keeps config and hooks next to HEAD, and git discovers it automatically. */
static int inspect_bare(struct scan *s, int dirfd, const char *name, const char *prefix)
{
    if (strcmp(name, "refs") != 0 || tc_item_is_git(s->item, prefix) || !tc_steers_bare(dirfd))
        return 0;
    int rc = pin(s, prefix, "objects/.") < 0 || pin(s, prefix, "refs/.") < 0 ? -1 : 0;
    for (const struct tc_bare *b = tc_bare; rc == 0 && b->name; b++) {
        _autofree_ char *relative = b->when & TC_BARE_STOOD ? below(prefix, b->name) : NULL;
        if (b->when & TC_BARE_STOOD)
            rc = relative ? protect(s, relative, TC_STEERS_HOST, false) : -1;
    }
    return rc;
}

/* Protects the other paths that git loads for the repository in this directory; the search may have
 * passed some already. */
static int inspect_repository(struct scan *s, const char *prefix)
{
    struct tc_trees *t = s->cage->trees;
    struct tc_item *item = &t->items[s->item - t->items];
    const struct tc_obeyed *known = item->obeyed;
    _autofree_ char *objects = below(prefix, ".git/objects");
    _autofd_ int store = objects ? tc_resolve_beneath(item->fd, objects) : -1;
    /* pinned: a moved directory of forged objects would keep their times */
    if (!objects || (store >= 0 && pin(s, objects, ".") < 0))
        return -1;
    int rc = tc_item_learn(t, item, prefix);
    for (const struct tc_obeyed *o = item->obeyed; o != known && rc == 0; o = o->next)
        rc = protect(s, o->relative, TC_STEERS_HOST, false);
    return rc;
}

/* The directories of submodules, where a new name could not be kept from taking effect. */
static bool holds_modules(const struct scan *s, const char *name, const char *relative)
{
    char above[PATH_MAX];
    if (strcmp(name, "modules") != 0)
        return false;
    find_above(relative, above);
    return tc_item_is_git(s->item, above);
}

/* Checks one entry of a directory. */
static int inspect(struct scan *s, int dirfd, const struct dirent *e, const char *relative)
{
    enum tc_steers steers = tc_item_steers(s->item, relative);
    if (holds_modules(s, e->d_name, relative))
        steers = TC_STEERS_HOST;
    bool place = (steers == TC_STEERS_ROOM && e->d_type == DT_DIR) ||
                 (steers == TC_STEERS_RECORD && (e->d_type == DT_DIR || e->d_type == DT_REG));
    if (steers != TC_STEERS_NOT && steers != TC_STEERS_WRITTEN && !place &&
        protect(s, relative, steers, false) < 0)
        return -1;
    bool policy = tc_tree_guards_id(s->cage->trees, dirfd, e->d_name, e->d_ino) &&
                  !tc_tree_guards(s->item, relative);
    return policy ? protect(s, relative, TC_STEERS_HOST, true) : 0;
}

static int search_below(struct scan *s, int dirfd, const struct dirent *e, const char *relative)
{
    int fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && e->d_type == DT_UNKNOWN && (errno == ENOTDIR || errno == ELOOP))
        return 0;
    int rc = fd >= 0 ? search(s, fd, relative) : errno == EACCES ? CLOSED : -1;
    if (fd < 0 && rc < 0) /* it was a directory a moment ago: another process moves entries */
        errno = errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : ESTALE;
    return rc == CLOSED ? close_off(s, relative) : rc;
}

/* Most files cannot be steering files, and need no path. */
static bool is_plain(const struct scan *s, int dirfd, const struct dirent *e)
{
    const struct tc_item *item = s->item;
    bool words = item->obeyed || !item->steering || item->steering->add.count;
    return e->d_type != DT_DIR && e->d_type != DT_UNKNOWN && !words &&
           strcmp(e->d_name, "refs") != 0 && !tc_steers_may(e->d_name) &&
           !tc_tree_guards_id(s->cage->trees, dirfd, e->d_name, e->d_ino);
}

static int search_entry(struct scan *s, int dirfd, const struct dirent *e, const char *prefix)
{
    _autofree_ char *relative = below(prefix, e->d_name);
    if (!relative || inspect(s, dirfd, e, relative) < 0 ||
        inspect_bare(s, dirfd, e->d_name, prefix) < 0 ||
        (strcmp(e->d_name, ".git") == 0 && inspect_repository(s, prefix) < 0))
        return -1;
    if ((e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) || is_frozen(s, relative))
        return 0;
    if (e->d_type == DT_DIR && (s->depth >= DEEPEST || strlen(relative) > LONGEST)) {
        tc_outcome_note(
            s->cage->outcome,
            tc_format("directories of %s that are more than %d levels or %d bytes deep are "
                      "read-only; grant one of them to write there",
                      s->item->path, DEEPEST, LONGEST));
        return protect(s, relative, TC_STEERS_HOST, true);
    }
    return search_below(s, dirfd, e, relative);
}

/* Should a directory be searched? 0 with its current state, CLOSED, COVERED, or -1. Only
 * directories on another device than the item can be kernel file systems, which change
 * constantly. */
static int enter_directory(struct scan *s, int fd, struct stat *ret)
{
    bool closed = fstatat(fd, ".", ret, 0) < 0;
    if (closed && errno != EACCES)
        return -1;
    bool same = !closed && ret->st_dev == s->item->id.dev;
    int kernel = same ? 0 : tc_tree_kernel_fs(fd);
    if (kernel != 0)
        return kernel < 0 ? -1 : COVERED;
    if (++s->directories > DIRECTORIES_MAX || s->cage->answered) {
        errno = E2BIG;
        return -1;
    }
    return closed ? CLOSED : 0;
}

/* Searches a directory and those below it. Takes ownership of fd. */
static int search(struct scan *s, int fd, const char *prefix)
{
    _autodir_ DIR *dir = tc_take_dir(fd);
    struct dirent *e;
    struct stat before, after;
    int rc = dir ? enter_directory(s, dirfd(dir), &before) : -1, more = 0;
    if (rc != 0)
        return rc == COVERED ? 0 : rc;
    const bool may = tc_steers_may(prefix) || tc_steers_may(s->item->context);
    s->depth++;
    while (rc == 0 && (more = tc_next_entry(dir, &e)) > 0)
        rc = may || !is_plain(s, dirfd(dir), e) ? search_entry(s, dirfd(dir), e, prefix) : 0;
    s->depth--;
    if (rc < 0 || more < 0 || fstat(dirfd(dir), &after) < 0)
        return -1;
    if (memcmp(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim)) == 0)
        return 0;
    errno = ESTALE;
    return -1;
}

static int search_item(struct scan *s)
{
    int fd = openat(s->item->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 ? search(s, fd, "") : errno == EACCES ? CLOSED : -1;
    return rc == CLOSED ? close_off(s, "") : rc;
}

/* Another process moves or replaces entries of the tree. */
static bool is_moving(int errnum)
{
    return errnum == ESTALE || tc_resolve_gone(errnum);
}

/* Drops the mounts since then. */
static void go_back(struct tc_trees *t, size_t mounts, size_t fds)
{
    t->mount_count = mounts;
    while (t->fd_count > fds)
        (void)close(t->fds[--t->fd_count]);
}

/* Searches again a tree that changed during the search. */
static int search_until_still(const struct scan *first)
{
    enum { TRIES = 16 };
    struct tc_trees *t = first->cage->trees;
    size_t mounts = t->mount_count, fds = t->fd_count;
    for (int i = 0; i < TRIES; i++) {
        struct scan s = {.cage = first->cage, .item = first->item};
        go_back(t, mounts, fds);
        bool copied =
            tc_strv_copy(&s.bound, &first->bound) && tc_strv_copy(&s.frozen, &first->frozen);
        int rc = copied ? search_item(&s) : -1;
        scan_done(&s);
        if (rc == 0 || !is_moving(errno))
            return rc;
    }
    return -1;
}

/* The part of the path below this item, if no deeper item holds it; else NULL. */
static const char *below_item(const struct tc_trees *t, const struct tc_item *item,
                              const char *path)
{
    return tc_tree_holder(t, path) == item ? path + strlen(item->path) + (item->path[1] != '\0')
                                           : NULL;
}

/* One command that creates those of toolcage's directories that are missing below the item. */
static char *create_own(const struct tc_cage *cage, const struct tc_item *item)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "mkdir -p");
    for (size_t i = 0; i < cage->plan->deny_count; i++) {
        const struct tc_deny *d = &cage->plan->denies[i];
        const char *relative = d->own ? below_item(cage->trees, item, d->path) : NULL;
        _autofd_ int fd = relative ? tc_resolve_beneath(item->fd, relative) : -1;
        if (!relative || fd >= 0)
            continue;
        _autofree_ char *place = tc_path_join(item->mount->from, relative);
        _autofree_ char *word = place ? tc_shell_quote(place) : NULL;
        tc_buf_addf(&out, " %s", word ? word : "");
    }
    tc_buf_adds(&out, ", or grant a directory below instead of all of it");
    return tc_buf_steal(&out);
}

static int refuse_own(struct tc_cage *cage, const struct tc_item *item, const char *relative)
{
    int errnum = errno;
    _autofree_ char *place = tc_path_join(item->mount->from, relative);
    _autofree_ char *hint = create_own(cage, item);
    errno = errnum;
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "steering", place, errno, hint),
                        TC_CLAUSE_FS_STEERING,
                        "the tool may write %s and could make toolcage's own directory %s there",
                        item->mount->from, relative);
}

/* Pins the directories above mounts in this tree (masks of denied names, other granted paths): the
 * mounts stay at their paths only if no directory above them is moved. Directories that toolcage
 * keeps for itself affect later calls, so they must exist, too. */
static int pin_names(struct scan *s)
{
    struct tc_cage *cage = s->cage;
    const struct tc_trees *t = cage->trees;
    const struct tc_item *item = s->item;
    for (size_t i = 0; i < cage->plan->deny_count; i++) {
        const struct tc_deny *d = &cage->plan->denies[i];
        const char *relative = below_item(t, item, d->path);
        _autofd_ int fd = relative ? tc_resolve_beneath(item->fd, relative) : -1;
        if (!relative || (fd < 0 && !d->own)) /* the masks report those */
            continue;
        if (fd < 0 || bind_between(s, relative) < 0)
            return d->own ? refuse_own(cage, item, relative) : -1;
    }
    for (size_t i = 0; i < t->item_count; i++) {
        const char *relative = below_item(t, item, t->items[i].path);
        if (relative && bind_between(s, relative) < 0)
            return -1;
    }
    return 0;
}

/* Protects the policy's files, whatever their names. */
static int guard_policy(struct scan *s)
{
    int rc = 0;
    for (const struct tc_guarded *g = s->item->guarded; g && rc == 0; g = g->next)
        rc = protect(s, g->relative, TC_STEERS_HOST, true);
    return rc;
}

/* Why an overlay may work where the search failed; NULL: it has the same problem. */
static const char *unbound(int errnum)
{
    if (errnum == E2BIG || errnum == EMFILE || errnum == ENFILE)
        return "a bind would need too many read-only mounts over steering files";
    return is_moving(errnum) ? "its entries were moved again and again while they were searched"
                             : NULL;
}

int tc_tree_steering(struct tc_cage *cage, const struct tc_item *item)
{
    /* mounting a directory on itself twice would hide the mounts below the first one */
    struct scan s = {.cage = cage, .item = item};
    int rc = pin_names(&s);
    if (rc == 0)
        rc = guard_policy(&s);
    if (rc == 0)
        rc = search_until_still(&s);
    int errnum = errno;
    scan_done(&s);
    cage->unbound = rc < 0 ? unbound(errnum) : NULL;
    if (rc == 0 || cage->outcome->failure.code)
        return rc;
    errno = errnum;
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(
            TOOLCAGE_EUNENFORCEABLE, "steering", item->mount->from, errno,
            errno == EACCES
                ? "make it listable (chmod u+rwx), or grant the directories inside it one by one"
                : "use workspace = { mode = \"overlay\" }, or --commit ask"),
        TC_CLAUSE_FS_STEERING, "cannot protect the files in %s that steer the host",
        item->mount->from);
}
