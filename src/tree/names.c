/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Denied names below granted paths. In a read-only tree an overlay of whiteouts hides them,
 * including names that are created later. In a writable tree an unreadable object is mounted over
 * an existing name. A host program that replaces the name removes that mask, and a name that does
 * not exist cannot be masked, so the end of the call checks both.
 *
 * The kernel refuses an overlay of a tree with mounts below it that the namespace may not remove;
 * for an ordinary user these are all mounts that existed before the namespace. Then the overlay
 * covers the largest directory around the name without mounts below it. If the directory of the
 * name itself has mounts, the name is masked as in a writable tree. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "policy/names/system_paths.h"
#include "tree/tree.h"

static int refuse_deny(struct tc_cage *cage, const struct tc_deny *d, const char *message)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    (void)tc_cage_fail(
        cage,
        TC_WHY_ERRNO(
            TOOLCAGE_EUNENFORCEABLE, "denied names", d->path, errno,
            "move it out of the granted directory, or grant the directories next to it one by one"),
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

/* Is one relative name equal to the other, or a directory above it? */
static bool covers(const char *name, const char *other)
{
    size_t n = strlen(name);
    return strncmp(name, other, n) == 0 && (other[n] == '/' || other[n] == '\0');
}

/* Adds a name to the NULL-terminated list of a mount. A hidden name hides everything below it, so
 * of two such names the upper one is kept. */
static int hide_in(struct tc_trees *t, struct tc_init_mount *m, const char *name)
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

/* The last mount at this path: a directory may have been mounted on itself before the granted path
 * was mounted there. */
static struct tc_init_mount *mount_at(struct tc_trees *t, const char *path)
{
    for (size_t i = t->mount_count; i-- > 0;)
        if (strcmp(t->mounts[i].path, path + 1) == 0)
            return &t->mounts[i];
    return NULL;
}

/* Inserts a mount in the list, before the paths that are granted below it. */
static struct tc_init_mount *insert(struct tc_trees *t, size_t at, int fd, const char *path)
{
    struct tc_init_mount *m = tc_tree_mount(t, fd, path, TC_LANDLOCK_READ_TREE);
    if (!m)
        return NULL;
    struct tc_init_mount added = *m;
    memmove(&t->mounts[at + 1], &t->mounts[at], (t->mount_count - 1 - at) * sizeof(*t->mounts));
    t->mounts[at] = added;
    return &t->mounts[at];
}

/* Cuts `name` after its first component that the tree lacks: hiding that one also hides names
 * created there later, without creating directories. */
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

/* A host tree as the cage shows it. */
struct base {
    int fd;                     /* O_PATH, on the host */
    const char *path;           /* in the cage */
    const struct tc_item *item; /* NULL: a system path */
    bool writable;
};

/* There is no object to mask yet: the end of the call checks again. */
static int await(struct tc_cage *cage, const struct base *in, const struct tc_deny *d)
{
    struct tc_masked *m = TC_PUSH(cage->trees->masked, cage->trees->masked_count);
    if (!m)
        return refuse_deny(cage, d, "out of memory while hiding");
    cage->trees->beside = cage->trees->beside || !in->writable;
    *m = (struct tc_masked){.deny = d,
                            .tree = in->fd,
                            .parent = -1,
                            .writable = in->writable,
                            .name = d->path + strlen(in->path) + 1};
    return 0;
}

/* Keeps the object open, so that its inode number is not reused. */
static int remember(struct tc_trees *t, const struct tc_masked *what, int fd)
{
    struct tc_masked *m = tc_tree_keep(t, fd) < 0 ? NULL : TC_PUSH(t->masked, t->masked_count);
    if (!m)
        return -1;
    *m = *what;
    m->parent = tc_tree_keep(t, tc_resolve_parent(what->tree, what->name));
    return m->parent < 0 ? -1 : 0;
}

/* Opens the first link on the path to a name; `way` (PATH_MAX bytes) becomes the link's path. -1
 * with errno. */
static int find_link(int tree, const char *name, char *way)
{
    struct stat st;
    tc_strcopy(way, PATH_MAX, name);
    for (char *slash = way; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        _autofd_ int fd = tc_resolve_object(tree, way);
        if (fd < 0 || fstat(fd, &st) < 0)
            return -1;
        if (S_ISLNK(st.st_mode))
            return TAKE_FD(fd);
        if (!slash)
            break;
    }
    errno = ENOENT;
    return -1;
}

/* Does ".." follow a name? If that name is a link, the text does not show the resulting path. */
static bool turns_back(const char *target)
{
    while (*target == '/' || *target == '.')
        target++;
    const char *back = strstr(target, "/..");
    return back && (back[3] == '/' || back[3] == '\0');
}

/* The cage's path of a name behind the link at `way`; NULL: unknown, or it would hide a whole
 * granted or system path. */
static struct tc_deny *behind(struct tc_cage *cage, const struct base *in, const struct tc_deny *d,
                              int link, const char *way)
{
    struct tc_trees *t = cage->trees;
    _autofree_ char *target = tc_link_target(link, "");
    _autofree_ char *at = tc_path_join(in->path, way);
    _autofree_ char *around = at ? tc_path_parent(at) : NULL;
    _autofree_ char *real =
        target && around && !turns_back(target) ? tc_path_absolute(around, target) : NULL;
    const char *rest = d->path + strlen(in->path) + 1 + strlen(way);
    struct tc_deny *there = tc_arena_alloc(&t->arena, sizeof(*there));
    if (!real || !there)
        return NULL;
    *there = *d;
    there->path = tc_arena_format(&t->arena, "%s%s", real[1] ? real : "", *rest ? rest : "");
    for (size_t i = 0; there->path && i < cage->plan->mount_count; i++)
        if (tc_path_within(there->path, cage->plan->mounts[i].path))
            return NULL;
    char shown[PATH_MAX];
    for (const char *next = cage->plan->system; there->path && tc_system_next(&next, shown);)
        if (tc_path_within(there->path, shown))
            return NULL;
    return there->path && there->path[0] ? there : NULL;
}

static int hide_one(struct tc_cage *cage, const struct tc_deny *d, int links);

/* A link cannot be masked. Its target is hidden instead, and the end of the call checks that the
 * link is the same. */
static int hide_behind(struct tc_cage *cage, const struct base *in, const struct tc_deny *d,
                       int links)
{
    struct tc_trees *t = cage->trees;
    char way[PATH_MAX];
    struct stat st;
    _autofd_ int fd = find_link(in->fd, d->path + strlen(in->path) + 1, way);
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_deny(cage, d, "cannot examine a link on the path to the denied name");
    const struct tc_deny *there = links > 0 ? behind(cage, in, d, fd, way) : NULL;
    if (!there)
        return refuse_deny(cage, d, "a link cannot be masked next to a mount:");
    struct tc_masked masked = {.deny = d,
                               .tree = in->fd,
                               .name = tc_arena_format(&t->arena, "%s", way),
                               .id = {st.st_dev, st.st_ino}};
    if (!masked.name || remember(t, &masked, TAKE_FD(fd)) < 0)
        return refuse_deny(cage, d, "out of memory while hiding");
    t->beside = true;
    return tc_tree_denied(cage->plan, there->path) ? 0 : hide_one(cage, there, links - 1);
}

static int mask_below(struct tc_cage *cage, const struct base *in, const struct tc_deny *d,
                      int links)
{
    struct tc_trees *t = cage->trees;
    const char *name = d->path + strlen(in->path) + 1;
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(in->fd, name);
    if (fd < 0 && errno == ELOOP)
        return in->writable
                   ? refuse_deny(cage, d, "a link cannot be masked in a writable directory:")
                   : hide_behind(cage, in, d, links);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && !in->writable)))
        return await(cage, in, d);
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_deny(cage, d, "cannot examine the denied name");
    t->beside = t->beside || !in->writable;
    struct tc_init_mount *m = tc_tree_mask(t, S_ISDIR(st.st_mode), d->path);
    struct tc_masked masked = {
        .deny = d, .tree = in->fd, .name = name, .id = {st.st_dev, st.st_ino}};
    if (!m || remember(t, &masked, TAKE_FD(fd)) < 0)
        return refuse_deny(cage, d, "cannot mask the denied name");
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return 0;
}

/* Does the kernel refuse an overlay of that directory because of mounts below it? Tries it only if
 * there are mounts, because destroying the clone waits for all CPUs. */
static int is_locked(struct tc_trees *t, int fd)
{
    int below = tc_trees_mounted_below(t, fd);
    if (below <= 0)
        return below;
    _autofd_ int alone = tc_open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (alone >= 0)
        return 0;
    return errno == EINVAL ? 1 : -1;
}

/* Caches the result: often many names are denied in the same tree. */
static int is_locked_again(struct tc_trees *t, const struct base *in)
{
    if (!t->asked || strcmp(t->asked, in->path) != 0) {
        t->locked = is_locked(t, in->fd);
        t->asked = in->path;
    }
    return t->locked;
}

/* Finds the first directory on the path to the name without mounts below it. Returns its length and
 * opens it; 0: none; -1 with errno. */
static ssize_t find_whole(struct tc_trees *t, int tree, const char *name, int *ret_fd)
{
    char way[PATH_MAX];
    tc_strcopy(way, sizeof(way), name);
    for (char *slash = strchr(way, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        _autofd_ int fd = tc_resolve_beneath(tree, way);
        int below = fd < 0 ? -1 : tc_trees_mounted_below(t, fd);
        if (below < 0)
            return -1;
        if (below == 0) {
            *ret_fd = TAKE_FD(fd);
            return slash - way;
        }
        *slash = '/';
    }
    return 0;
}

/* Mounts the directory that find_whole() has found on itself, to hide names in it as in a granted
 * tree. */
static struct tc_init_mount *show_again(struct tc_cage *cage, const struct base *in, int fd,
                                        const char *path)
{
    struct tc_trees *t = cage->trees;
    struct tc_init_mount *base = mount_at(t, in->path);
    struct stat st;
    int tree = in->item ? tc_tree_show(cage, in->item, fd)
                        : tc_tree_keep(t, tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL));
    if (tree < 0 || fstat(fd, &st) < 0)
        return NULL;
    struct tc_init_mount *m = insert(t, base ? (size_t)(base - t->mounts) + 1 : 1, tree, path);
    if (!m)
        return NULL;
    m->no_rule = true;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return m;
}

static int hide_apart(struct tc_cage *cage, const struct base *in, const char *name,
                      const struct tc_deny *d, int links)
{
    struct tc_trees *t = cage->trees;
    _autofd_ int fd = -1;
    ssize_t length = find_whole(t, in->fd, name, &fd);
    if (length < 0)
        return refuse_deny(cage, d, "cannot examine the path to the denied name");
    if (length == 0)
        return mask_below(cage, in, d, links);
    char *path = tc_arena_format(&t->arena, "%s/%.*s", in->path, (int)length, name);
    struct tc_init_mount *m = path ? mount_at(t, path) : NULL;
    if (!m && tc_tree_kernel_fs(fd) > 0)
        return 0; /* covered completely */
    if (!m && path)
        m = show_again(cage, in, fd, path);
    return !m || hide_in(t, m, name + length + 1) < 0
               ? refuse_deny(cage, d, "cannot hide the denied name")
               : 0;
}

static int hide_below(struct tc_cage *cage, const struct base *in, const struct tc_deny *d,
                      int links)
{
    struct tc_trees *t = cage->trees;
    _autofree_ char *name = strdup(d->path + strlen(in->path) + 1);
    int locked = is_locked_again(t, in);
    if (!name || locked < 0)
        return refuse_deny(cage, d, "cannot list the mounts around");
    shorten(in->fd, name);
    if (locked)
        return hide_apart(cage, in, name, d, links);
    struct tc_init_mount *m = mount_at(t, in->path);
    if (!m)
        m = insert(t, 1, -1, in->path); /* after /tmp */
    return !m || hide_in(t, m, name) < 0 ? refuse_deny(cage, d, "out of memory while hiding") : 0;
}

static int hide_below_system(struct tc_cage *cage, const char *tree, const struct tc_deny *d,
                             int links)
{
    int fd = tc_tree_keep(cage->trees, open(tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return refuse_deny(cage, d, "cannot examine the system's path of");
    return hide_below(cage, &(struct base){.fd = fd, .path = tree}, d, links);
}

static int hide_system(struct tc_cage *cage, const struct tc_deny *d, int links);

/* A system path may be a link (bin -> usr/bin): hides the name at the real path. */
static int hide_at(struct tc_cage *cage, const char *path, const char *from,
                   const struct tc_deny *d, int links)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);
    if (n < 0 && errno != EINVAL && errno != ENOENT && errno != EACCES)
        return refuse_deny(cage, d, "cannot examine the system's path of");
    if (n < 0) /* not a link */
        return hide_below_system(cage, path, d, links);
    target[n] = '\0';
    _autofree_ char *real = tc_path_absolute("/", target);
    struct tc_deny *there = tc_arena_alloc(&cage->trees->arena, sizeof(*there));
    char *moved = real ? tc_arena_format(&cage->trees->arena, "%s%s", real[1] ? real : "",
                                         d->path + strlen(path))
                       : NULL;
    if (!there || !moved)
        return refuse_deny(cage, d, "out of memory while hiding");
    *there = (struct tc_deny){.path = moved, .key = d->key, .line = d->line};
    return strcmp(moved, d->path) == 0 ? 0 : hide_system(cage, there, links);
}

static int hide_system(struct tc_cage *cage, const struct tc_deny *d, int links)
{
    const struct tc_plan *plan = cage->plan;
    char path[PATH_MAX];
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if (m->kind == TC_MOUNT_SYSTEM && tc_path_within(m->path, d->path) &&
            !tc_tree_denied(plan, m->path)) /* else the root does not have it */
            return hide_at(cage, m->path, m->from, d, links);
    }
    for (const char *at = plan->system; tc_system_next(&at, path);)
        if (tc_path_within(path, d->path) && !tc_tree_denied(plan, path)) {
            char *kept = tc_arena_format(&cage->trees->arena, "%s", path);
            return kept ? hide_at(cage, kept, kept, d, links)
                        : refuse_deny(cage, d, "out of memory while hiding");
        }
    return 0; /* not in the cage */
}

/* Occupies the name in a private directory, so that no entry of the host shows there. */
static int mask_in_single_dir(struct tc_cage *cage, const struct tc_item *item,
                              const struct tc_deny *d)
{
    struct tc_trees *t = cage->trees;
    const char *name = d->path + strlen(item->path) + 1;
    if (tc_single_file_point(t, item, name, false) < 0 || !tc_tree_mask(t, false, d->path))
        return refuse_deny(cage, d, "cannot hide the denied name");
    return 0;
}

/* Is the name denied twice, or below another denied name? */
static bool covered(const struct tc_plan *plan, size_t index)
{
    const char *path = plan->denies[index].path;
    for (size_t i = 0; i < plan->deny_count; i++)
        if (i != index && tc_path_within(plan->denies[i].path, path) &&
            (i < index || strcmp(plan->denies[i].path, path) != 0))
            return true;
    return false;
}

static int hide_one(struct tc_cage *cage, const struct tc_deny *d, int links)
{
    const struct tc_item *item = deepest_item(cage->trees, d->path);
    if (!item)
        return hide_system(cage, d, links);
    const struct base in = {.fd = item->fd,
                            .path = item->path,
                            .item = item,
                            .writable = item->writable && item->layers < 0};
    if (strcmp(item->path, d->path) == 0)
        return 0; /* left out completely */
    if (item->single_dir)
        return mask_in_single_dir(cage, item, d);
    if (item->copy >= 0 && item->layers < 0)
        return 0; /* the copy does not have it */
    return in.writable ? mask_below(cage, &in, d, links) : hide_below(cage, &in, d, links);
}

int tc_tree_hide(struct tc_cage *cage)
{
    enum { LINKS_MAX = 8 };
    for (size_t i = 0; i < cage->plan->deny_count; i++)
        if (!covered(cage->plan, i) && hide_one(cage, &cage->plan->denies[i], LINKS_MAX) < 0)
            return -1;
    return 0;
}
