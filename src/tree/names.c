/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Denied names below granted paths. Below what is read-only an overlay of whiteouts makes them
 * disappear, also names that come later. Below a writable tree an unreadable object is mounted over
 * what exists; a host program that replaces the name takes the mask away, so the end of the call
 * looks whether it still stood. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "linux/mounts.h"
#include "tree/tree.h"

static int refuse(struct tc_cage *cage, const struct tc_deny *d, const char *message)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(
        cage,
        TC_WHY_ERRNO(
            TOOLCAGE_EUNENFORCEABLE, "denied names", d->path, errno,
            "move it out of the granted directory, or grant the directories beside it one by one"),
        TC_CLAUSE_FS_DENIED, "%s %s", message, d->path);
    f->key = d->key ? strdup(d->key) : NULL;
    f->line = d->line;
    return -1;
}

static const struct tc_item *deepest_item(const struct tc_trees *t, const char *path)
{
    const struct tc_item *best = NULL;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].directory && tc_path_within(t->items[i].path, path) &&
            (!best || strlen(t->items[i].path) > strlen(best->path)))
            best = &t->items[i];
    return best;
}

/* Is one relative name the other, or a directory above it? */
static bool covers(const char *name, const char *other)
{
    size_t n = strlen(name);
    return strncmp(name, other, n) == 0 && (other[n] == '/' || other[n] == '\0');
}

/* Adds a name to the NULL-terminated list of a mount. What lies below a hidden name is hidden with
 * it: the list keeps the upper one of two. */
static int hide_in(struct tc_trees *t, struct tc_box_mount *m, const char *name)
{
    size_t n = 0, kept = 0;
    while (m->hide && m->hide[n])
        if (covers(m->hide[n++], name))
            return 0;
    const char **list = tc_arena_alloc(&t->arena, (n + 2) * sizeof(*list));
    char *copy = tc_arena_format(&t->arena, "%s", name);
    if (!list || !copy)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!covers(name, m->hide[i]))
            list[kept++] = m->hide[i];
    list[kept] = copy;
    m->hide = list;
    return 0;
}

/* The last: a directory may have been mounted on itself before what was granted there. */
static struct tc_box_mount *mount_at(struct tc_trees *t, const char *path)
{
    for (size_t i = t->mount_count; i-- > 0;)
        if (strcmp(t->mounts[i].path, path + 1) == 0)
            return &t->mounts[i];
    return NULL;
}

/* Puts a mount of the root into the list, after /tmp and before every granted path. */
static struct tc_box_mount *add_system(struct tc_trees *t, const char *path)
{
    struct tc_box_mount *m = tc_process_mount(t, -1, path, TC_LANDLOCK_READ_TREE);
    if (!m)
        return NULL;
    struct tc_box_mount added = *m;
    memmove(&t->mounts[2], &t->mounts[1], (t->mount_count - 2) * sizeof(*t->mounts));
    t->mounts[1] = added;
    return &t->mounts[1];
}

/* The part of `name` up to its first component that the tree lacks: hiding that keeps also what may
 * be made there later out of sight, without inventing directories. */
static void shorten(int tree, char *name)
{
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        struct stat st;
        _autofd_ int fd = tc_resolve_beneath(tree, name);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
            return;
        *slash = '/';
    }
}

static int hide_below_item(struct tc_cage *cage, const struct tc_item *item,
                           const struct tc_deny *d)
{
    struct tc_trees *t = cage->trees;
    struct tc_box_mount *m = mount_at(t, item->path);
    _autofree_ char *name = strdup(d->path + strlen(item->path) + 1);
    if (!m || !name)
        return refuse(cage, d, "out of memory while hiding");
    shorten(item->fd, name);
    return hide_in(t, m, name) < 0 ? refuse(cage, d, "out of memory while hiding") : 0;
}

static int hide_below_system(struct tc_cage *cage, const char *tree, const char *name,
                             const struct tc_deny *d)
{
    struct tc_trees *t = cage->trees;
    struct tc_box_mount *m = mount_at(t, tree);
    if (!m)
        m = add_system(t, tree);
    return !m || hide_in(t, m, name) < 0 ? refuse(cage, d, "out of memory while hiding") : 0;
}

/* A system path may be a link (bin -> usr/bin): the name is hidden where it really is. */
static int hide_system(struct tc_cage *cage, const struct tc_deny *d)
{
    const struct tc_plan *plan = cage->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if (m->kind != TC_MOUNT_SYSTEM || !tc_path_within(m->path, d->path) ||
            tc_process_denied(plan, m->path)) /* then the root lacks it */
            continue;
        char target[PATH_MAX];
        ssize_t n = readlink(m->from, target, sizeof(target) - 1);
        if (n < 0 && errno != EINVAL && errno != ENOENT && errno != EACCES)
            return refuse(cage, d, "cannot examine the system's path of");
        if (n < 0) /* no link */
            return hide_below_system(cage, m->path, d->path + strlen(m->path) + 1, d);
        target[n] = '\0';
        _autofree_ char *real = tc_path_absolute("/", target);
        _autofree_ char *moved = real ? tc_path_join(real, d->path + strlen(m->path) + 1) : NULL;
        if (!moved)
            return refuse(cage, d, "out of memory while hiding");
        struct tc_deny there = {.path = moved, .key = d->key, .line = d->line};
        return strcmp(moved, d->path) == 0 ? 0 : hide_system(cage, &there);
    }
    return 0; /* not in the cage at all */
}

/* The object stays open, so that no later one can have its number. */
static int remember(struct tc_trees *t, const struct tc_masked *what, int fd)
{
    _autofree_ char *parent = tc_path_parent(what->name);
    struct tc_masked *m =
        tc_process_keep(t, fd) < 0 || !parent ? NULL : TC_PUSH(t->masked, t->masked_count);
    if (!m)
        return -1;
    *m = *what;
    m->parent = tc_process_keep(t, tc_resolve_beneath(what->tree, parent[0] == '/' ? "." : parent));
    return m->parent < 0 ? -1 : 0;
}

static int mask_below_item(struct tc_cage *cage, const struct tc_item *item,
                           const struct tc_deny *d)
{
    struct tc_trees *t = cage->trees;
    const char *name = d->path + strlen(item->path) + 1;
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(item->fd, name);
    if (fd < 0 && errno == ELOOP)
        return refuse(cage, d, "a link cannot be masked in a writable directory:");
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse(cage, d, "cannot examine the denied name");
    int over = S_ISDIR(st.st_mode) ? t->host->mask_dir : t->host->mask_file;
    int tree = tc_process_keep(t, tc_tree_open(over, &(struct tc_tree){.userns = -1}, NULL));
    struct tc_box_mount *m =
        tree < 0 ? NULL : tc_process_mount(t, tree, d->path, TC_LANDLOCK_READ_TREE);
    struct tc_masked masked = {
        .deny = d, .tree = item->fd, .name = name, .id = {st.st_dev, st.st_ino}};
    if (!m || remember(t, &masked, TAKE_FD(fd)) < 0)
        return refuse(cage, d, "cannot mask the denied name");
    m->no_rule = true;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return 0;
}

/* In a private directory the name is taken, so that nothing of the host shows there. */
static int mask_in_drawer(struct tc_cage *cage, const struct tc_item *item, const struct tc_deny *d)
{
    struct tc_trees *t = cage->trees;
    const char *name = d->path + strlen(item->path) + 1;
    int tree =
        tc_process_keep(t, tc_tree_open(t->host->mask_file, &(struct tc_tree){.userns = -1}, NULL));
    if (tree < 0 || tc_drawer_point(t, item, name, false) < 0)
        return refuse(cage, d, "cannot hide the denied name");
    struct tc_box_mount *m = tc_process_mount(t, tree, d->path, TC_LANDLOCK_READ_TREE);
    if (!m)
        return refuse(cage, d, "out of memory while hiding");
    m->no_rule = true;
    return 0;
}

/* Below a name that is denied itself, or named twice. */
static bool covered(const struct tc_plan *plan, size_t index)
{
    const char *path = plan->denies[index].path;
    for (size_t i = 0; i < plan->deny_count; i++)
        if (i != index && tc_path_within(plan->denies[i].path, path) &&
            (i < index || strcmp(plan->denies[i].path, path) != 0))
            return true;
    return false;
}

int tc_process_hide(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < cage->plan->deny_count; i++) {
        const struct tc_deny *d = &cage->plan->denies[i];
        const struct tc_item *item = deepest_item(t, d->path);
        int rc;
        if (covered(cage->plan, i))
            continue;
        if (!item)
            rc = hide_system(cage, d);
        else if (strcmp(item->path, d->path) == 0)
            rc = 0; /* left out as a whole */
        else if (item->drawer)
            rc = mask_in_drawer(cage, item, d);
        else if (item->copy >= 0 && item->layers < 0)
            rc = 0; /* the copy has none */
        else if (item->writable && item->layers < 0)
            rc = mask_below_item(cage, item, d);
        else
            rc = hide_below_item(cage, item, d);
        if (rc < 0)
            return -1;
    }
    return 0;
}
