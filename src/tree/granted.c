/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Resolves the granted paths of a cage to fds at each call, and answers questions about the list:
 * which item holds a path, is a path denied, how does a failure name a path. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/display.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/names/system_paths.h"
#include "tree/steering.h"
#include "tree/tree.h"

/* ---- the list: no access to a file system ---- */

int tc_tree_refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                   const char *before, const char *after)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EPATH, "resolve", m->from, errnum, hint),
                       m->kind == TC_MOUNT_WRITE ? TC_CLAUSE_FS_WRITE : TC_CLAUSE_FS_READ, "%s%s%s",
                       before, m->from, after);
    f->key = m->key ? strdup(m->key) : NULL;
    f->line = m->line;
    return -1;
}

bool tc_tree_denied(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->deny_count; i++)
        if (tc_path_within(plan->denies[i].path, path))
            return true;
    return false;
}

/* Paths that the cage provides. The policy refuses them, too; this is a second check. */
bool tc_tree_reserved(const struct tc_plan *plan, const char *path)
{
    static const char *const own[] = {"/proc", "/dev", "/sys"};
    if (tc_system_path_shm(path)) /* other backends have no /dev/shm for mount points */
        return plan->image || strcmp(plan->backend, "process") != 0;
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (tc_path_within(own[i], path))
            return true;
    return strcmp(path, "/") == 0 || strcmp(path, "/tmp") == 0 || strcmp(path, "/etc") == 0;
}

static int by_depth(const void *a, const void *b)
{
    const struct tc_item *x = a, *y = b;
    size_t dx = tc_path_depth(x->path), dy = tc_path_depth(y->path);
    return dx != dy ? (dx > dy) - (dx < dy) : strcmp(x->path, y->path);
}

void tc_tree_sort(struct tc_trees *t)
{
    qsort(t->items, t->item_count, sizeof(*t->items), by_depth);
}

struct tc_item *tc_tree_holder(const struct tc_trees *t, const char *path)
{
    struct tc_item *best = NULL;
    for (size_t i = 0; i < t->item_count; i++) {
        struct tc_item *item = &t->items[i];
        if (item->directory && strcmp(item->path, path) != 0 && tc_path_within(item->path, path) &&
            (!best || strlen(item->path) > strlen(best->path)))
            best = item;
    }
    return best;
}

bool tc_tree_copied(const struct tc_plan *plan, const struct tc_item *item)
{
    return item->writable && item->directory && item->mount->workspace &&
           plan->workspace != TC_WORKSPACE_BIND;
}

/* ---- resolving ---- */

/* The path has no line in the policy, so it comes from an option. A file need not exist where its
 * directory is granted. Owned. */
static char *hint_of_option(const struct tc_mount *m)
{
    _autofree_ char *word = tc_shell_quote(m->from), *dir = tc_path_parent(m->from);
    _autofree_ char *above = dir ? tc_shell_quote(dir) : NULL;
    if (m->kind != TC_MOUNT_WRITE || !word || !above)
        return strdup("create it first, or leave the option out");
    return tc_format(
        "for a new directory: mkdir %s; for a new file grant its directory: --write %s", word,
        above);
}

/* The path with the target of the link `name` in its place: text, which is not looked up. Owned;
 * NULL: not known. */
static char *beyond_link(const char *path, const char *name)
{
    size_t n = strlen(name);
    const char *at = n ? strstr(path, name) : NULL;
    while (at && !(at > path && at[-1] == '/' && (at[n] == '/' || !at[n])))
        at = strstr(at + 1, name);
    _autofree_ char *link = at ? strndup(path, (size_t)(at - path) + n) : NULL;
    _autofree_ char *dir = link ? tc_path_parent(link) : NULL;
    char target[PATH_MAX];
    ssize_t length = dir ? readlink(link, target, sizeof(target) - 1) : -1;
    if (length <= 0)
        return NULL;
    target[length] = '\0';
    _autofree_ char *start = tc_path_absolute(dir, target);
    return start ? tc_format("%s%s", start, at + n) : NULL;
}

static int refuse_errno(struct tc_cage *cage, const struct tc_mount *m, const char *where)
{
    int errnum = errno;
    _autofree_ char *option = m->line || m->bound ? NULL : hint_of_option(m);
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        if (m->bound)
            option = strdup("give the path of a file or directory that exists");
        if (option)
            return tc_tree_refuse(cage, m, 0, option, "granted path ", " does not exist");
        return tc_tree_refuse(
            cage, m, 0,
            "create it, write it as { path = \"…\", optional = true }, or remove it from the "
            "policy",
            "granted path ", " does not exist");
    case ELOOP: {
        _autofree_ char *real = beyond_link(m->from, where);
        _autofree_ char *hint = tc_format(
            "\"%s\" is a symbolic link in a directory that a tool can write or that another user "
            "owns; name the real path instead%s%s",
            where, real ? ", if you mean it: " : "", real ? real : "");
        return tc_tree_refuse(cage, m, 0, hint, "granted path ",
                              " contains a symbolic link that is not followed");
    }
    default:
        return tc_tree_refuse(cage, m, errnum, "check its permissions", "granted path ",
                              " cannot be opened");
    }
}

int tc_tree_refuse_link(struct tc_cage *cage, const struct tc_item *item)
{
    char real[PATH_MAX];
    bool named = item->fd >= 0 && tc_resolve_name(item->fd, real) == 0;
    _autofree_ char *hint =
        named ? tc_format("write the real path instead: %s%s%s", real, item->host_name ? "/" : "",
                          item->host_name ? item->host_name : "")
              : strdup("write the real path instead");
    return tc_tree_refuse(cage, item->mount, 0, hint ? hint : "", "granted path ",
                          " is or contains a symbolic link of another granted directory");
}

/* A granted path on the host. */
struct found {
    int fd;              /* -1: it does not exist yet */
    int dir;             /* the directory that holds it; -1: not needed */
    char name[PATH_MAX]; /* in that directory; or the path that stopped the search */
};

/* Resolves a path that a model chose, beneath its bound and without following links. A writable
 * file need not exist yet, but its directory must. */
static int find_beneath(struct tc_trees *t, const struct tc_mount *m, struct found *ret)
{
    const char *rest = m->from + strlen(m->bound);
    rest += *rest == '/';
    if (!*rest)
        return ret->fd = tc_resolve_in(&t->provenance.resolver, m->bound, ret->name, &ret->dir);
    _autofd_ int bound = tc_resolve(&t->provenance.resolver, m->bound, ret->name);
    if (bound < 0)
        return -1;
    tc_strcopy(ret->name, sizeof(ret->name), rest);
    ret->dir = tc_resolve_parent(bound, rest);
    if (ret->dir < 0)
        return -1;
    tc_strcopy(ret->name, sizeof(ret->name), tc_path_base(rest));
    ret->fd = tc_resolve_beneath(ret->dir, ret->name);
    return ret->fd < 0 && errno == ENOENT && m->kind == TC_MOUNT_WRITE ? 0 : ret->fd;
}

static int find_path(struct tc_trees *t, const struct tc_mount *m, struct found *ret)
{
    *ret = (struct found){.fd = -1, .dir = -1};
    int rc = m->bound ? find_beneath(t, m, ret)
                      : (ret->fd =
                             tc_resolve_in(&t->provenance.resolver, m->from, ret->name, &ret->dir));
    if (rc >= 0)
        return 0;
    int saved = errno;
    if (ret->dir >= 0)
        (void)close(TAKE_FD(ret->dir));
    errno = saved;
    return -1;
}

/* A model may not choose a steering file; the operator's bound may be one. */
static bool steers(const struct tc_plan *plan, const struct tc_mount *m, const struct found *f)
{
    if (m->kind != TC_MOUNT_WRITE || !m->bound)
        return false;
    const struct tc_item beneath = {.steering = &plan->steering, .context = m->bound};
    const char *rest = m->from + strlen(m->bound);
    return !tc_steers_named(m->bound) &&
           tc_steers_place(&beneath, f->dir, rest + (*rest == '/'), S_IFREG);
}

/* A writable file, existing or not, is known by its directory and name. */
static int add_file(struct tc_trees *t, struct tc_item *item, const struct found *f)
{
    struct stat st;
    item->name = tc_path_base(item->path);
    item->host_name = tc_arena_format(&t->arena, "%s", f->name);
    item->fd = f->dir;
    if (!item->host_name || fstat(f->dir, &st) < 0)
        return -1;
    if (!item->id.dev) {
        item->uid = st.st_uid;
        item->gid = st.st_gid;
    }
    return 0;
}

/* Notes the directory's host path, without links. */
static int note_context(struct tc_trees *t, struct tc_item *item)
{
    char place[PATH_MAX];
    if (tc_resolve_name(item->fd, place) < 0)
        return -1;
    item->context = tc_arena_format(&t->arena, "%s", place);
    return item->context ? tc_item_learn_around(t, item) : -1;
}

static int add_item(struct tc_cage *cage, const struct tc_mount *m, const struct found *f)
{
    struct tc_trees *t = cage->trees;
    struct stat st = {.st_mode = S_IFREG};
    if (f->fd >= 0 && fstat(f->fd, &st) < 0)
        return tc_tree_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    t->remote = t->remote || tc_tree_remote_fs(f->fd >= 0 ? f->fd : f->dir);
    int kernel = f->fd < 0 ? 0 : tc_tree_kernel_fs(f->fd);
    if (kernel < 0)
        return tc_tree_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    if (kernel > 0)
        return tc_tree_refuse(cage, m, 0, "grant a directory with files", "granted path ",
                              " is in a file system that shows the host's kernel");
    bool socket = m->kind == TC_MOUNT_SOCKET;
    if (socket && !S_ISSOCK(st.st_mode))
        return tc_tree_refuse(cage, m, 0, "name the socket itself, and start its server first",
                              "granted unix socket ", " is not a socket");
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !socket)
        return tc_tree_refuse(
            cage, m, 0, "grant the directory that it is needed for, or copy the data into a file",
            "granted path ", " is neither a directory nor a regular file");
    struct tc_item *item = &t->items[t->item_count];
    *item = (struct tc_item){.mount = m,
                             .path = m->path,
                             .fd = f->fd,
                             .directory = S_ISDIR(st.st_mode),
                             .writable = m->kind == TC_MOUNT_WRITE,
                             .copy = -1,
                             .layers = -1,
                             .uid = st.st_uid,
                             .gid = st.st_gid,
                             .steering = &cage->plan->steering,
                             .id = {st.st_dev, st.st_ino}};
    if (item->writable && !item->directory && add_file(t, item, f) < 0)
        return tc_tree_refuse(cage, m, errno, NULL, "the directory of ", " cannot be examined");
    if (item->writable && item->directory && note_context(t, item) < 0)
        return tc_tree_refuse(cage, m, errno, NULL, "the path of ", " cannot be examined");
    t->item_count++;
    return 0;
}

/* Both fds belong to the cage from here on, even if one could not be kept and was closed. */
static int keep_found(struct tc_trees *t, const struct found *f)
{
    int fd = f->fd < 0 ? 0 : tc_tree_keep(t, f->fd);
    int dir = f->dir < 0 ? 0 : tc_tree_keep(t, f->dir);
    return fd < 0 || dir < 0 ? -1 : 0;
}

/* Is the path where its directory, which is granted, too, shows it? */
static bool in_granted(const struct tc_plan *plan, const struct tc_mount *m)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *dir = &plan->mounts[i];
        if (dir != m && dir->from && m->from && tc_path_below(dir->from, m->from) &&
            tc_path_below(dir->path, m->path) &&
            strcmp(m->from + strlen(dir->from), m->path + strlen(dir->path)) == 0)
            return true;
    }
    return false;
}

/* A database without its newest changes: the tool would see old data, and what it wrote could not
 * be combined with them. */
static int check_database(struct tc_cage *cage, const struct tc_mount *m, const struct found *f)
{
    const char *suffix = f->fd < 0 || f->dir < 0 || in_granted(cage->plan, m)
                             ? NULL
                             : tc_tree_companion(f->dir, f->name);
    _autofree_ char *parent = suffix ? tc_path_parent(m->from) : NULL;
    _autofree_ char *word = parent ? tc_shell_quote(parent) : NULL;
    _autofree_ char *after = tc_format(" is a database whose newest changes are in %s%s next to it",
                                       f->name, suffix ? suffix : "");
    _autofree_ char *hint =
        tc_format("grant the directory of both: --%s %s, or its path in the policy",
                  m->kind == TC_MOUNT_WRITE ? "write" : "read", word ? word : "DIR");
    return suffix ? tc_tree_refuse(cage, m, 0, hint, "granted path ", after ? after : "") : 0;
}

static int resolve_one(struct tc_cage *cage, const struct tc_mount *m)
{
    struct tc_trees *t = cage->trees;
    struct found f;
    if (tc_tree_reserved(cage->plan, m->path))
        return tc_tree_refuse(cage, m, 0,
                              "grant it at another path: { path = \"/data\", from = \"…\" }", "",
                              " cannot be mounted at a path that belongs to the cage");
    if (find_path(t, m, &f) < 0)
        return m->optional && (errno == ENOENT || errno == ENOTDIR) ? 0
                                                                    : refuse_errno(cage, m, f.name);
    if (keep_found(t, &f) < 0)
        return tc_tree_refuse(cage, m, errno, NULL, "granted path ", " cannot be examined");
    if (steers(cage->plan, m, &f))
        return tc_tree_refuse(
            cage, m, 0,
            "name another path; only filesystem.steering in the policy grants such files", "",
            " steers the host: programs there load or run it automatically");
    return check_database(cage, m, &f) < 0 ? -1 : add_item(cage, m, &f);
}

int tc_tree_resolve(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    const struct tc_plan *plan = cage->plan;
    /* a writable file can need a private directory */
    t->items = tc_arena_alloc(&t->arena, (2 * plan->mount_count + 1) * sizeof(*t->items));
    if (!t->items)
        return tc_cage_fail_memory(cage, "resolve");
    for (size_t i = 0; i < plan->mount_count && !cage->answered; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if ((m->kind != TC_MOUNT_READ && m->kind != TC_MOUNT_WRITE && m->kind != TC_MOUNT_SOCKET) ||
            tc_tree_denied(plan, m->path))
            continue;
        if (resolve_one(cage, m) < 0)
            return -1;
    }
    tc_tree_sort(t);
    return tc_tree_guard(cage);
}
