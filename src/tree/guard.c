/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy's own files: a tool that could write them would define the next call's grant. They are
 * located at each call, whatever their names and whatever the grant, and are read-only wherever a
 * writable grant reaches them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "tree/tree.h"

static int refuse_path(struct tc_cage *cage, const struct tc_item *item, const char *path,
                       int errnum, const char *why, const char *hint)
{
    (void)tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EDENIED, "steering", path, errnum, hint),
                       TC_CLAUSE_FS_STEERING, "the policy is made from %s, %s", path, why);
    if (item && item->mount->key) {
        cage->outcome->failure.key = strdup(item->mount->key);
        cage->outcome->failure.line = item->mount->line;
    }
    return -1;
}

static const char unseen[] = "which cannot be examined";
static const char apart[] = "keep the policy's files outside of what tools write";

static bool is(const struct tc_file_id *id, const struct stat *st)
{
    return id->dev == st->st_dev && id->ino == st->st_ino;
}

/* `rest` is the path of the file relative to this directory. */
static int mark(struct tc_cage *cage, const char *path, const struct stat *st, const char *rest,
                bool *ret_inside)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->item_count; i++) {
        struct tc_item *item = &t->items[i];
        if (!item->writable || !item->directory || !is(&item->id, st))
            continue;
        if (t->unmounted)
            return refuse_path(cage, item, path, 0,
                               "which the tool may write, and without namespaces it cannot be made "
                               "read-only",
                               apart);
        struct tc_guarded *g = tc_arena_alloc(&t->arena, sizeof(*g));
        char *relative = g ? tc_arena_format(&t->arena, "%s", rest) : NULL;
        if (!relative)
            return tc_cage_fail_memory(cage, "steering");
        *g = (struct tc_guarded){.relative = relative, .next = item->guarded};
        item->guarded = g;
        *ret_inside = true;
    }
    return 0;
}

/* Protects the file itself, under any of its names. */
static int mark_file(struct tc_cage *cage, const char *path, const struct stat *st)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].writable && !t->items[i].directory && is(&t->items[i].id, st))
            return refuse_path(cage, &t->items[i], path, 0, "which no tool may write",
                               "remove the file from what the tool may write");
    if (t->unmounted && st->st_nlink > 1)
        return refuse_path(
            cage, NULL, path, 0,
            "which has other names, and without namespaces the tool may write one of them",
            "replace it by a copy, which has one name");
    struct tc_file_id *ids = tc_arena_alloc(&t->arena, (t->guarded_count + 1) * sizeof(*ids));
    if (!ids)
        return tc_cage_fail_memory(cage, "steering");
    if (t->guarded_count)
        memcpy(ids, t->guarded, t->guarded_count * sizeof(*ids));
    ids[t->guarded_count++] = (struct tc_file_id){st->st_dev, st->st_ino};
    t->guarded = ids;
    return 0;
}

/* The file does not exist. Could the tool create it? */
static int mark_new(struct tc_cage *cage, const char *path, int dir, const char *name)
{
    struct tc_trees *t = cage->trees;
    struct stat st, its;
    if (fstat(dir, &st) < 0)
        return refuse_path(cage, NULL, path, errno, unseen, apart);
    for (size_t i = 0; i < t->item_count; i++) {
        const struct tc_item *item = &t->items[i];
        if (item->writable && item->host_name && strcmp(item->host_name, name) == 0 &&
            (fstat(item->fd, &its) < 0 || (its.st_dev == st.st_dev && its.st_ino == st.st_ino)))
            return refuse_path(cage, item, path, ENOENT, "which no tool may create", apart);
    }
    errno = ENOENT;
    return 0;
}

static bool writes(const struct tc_trees *t, bool directory)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].writable && (t->items[i].directory || !directory))
            return true;
    return false;
}

/* Opens the directory where the walk starts: the last one, if that is enough. Only a directory
 * grant can contain the file; a writable file must be the file itself, so the directories above do
 * not matter. */
static int begin_walk(const struct tc_trees *t, const char *real, const char **ret_rest)
{
    _autofree_ char *parent = writes(t, true) ? NULL : tc_path_parent(real);
    int dir = parent ? tc_resolve_plain(parent) : -1;
    *ret_rest = dir < 0 ? real + 1 : strrchr(real, '/') + 1;
    return dir < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : dir;
}

/* Walks from the root down by fds, to find the grants on the way. The path has no links. An
 * existing file is protected or the call is refused; a missing one may need neither. */
static int walk(struct tc_cage *cage, const char *path, const char *real, bool found, bool must)
{
    const char *rest;
    _autofd_ int dir = begin_walk(cage->trees, real, &rest);
    bool inside = false;
    struct stat st;
    int rc = dir < 0 ? -1 : 0;
    for (const char *at = rest; rc == 0; at += strcspn(at, "/") + 1) {
        char name[NAME_MAX + 1];
        size_t n = strcspn(at, "/");
        if (n > NAME_MAX || fstat(dir, &st) < 0)
            return refuse_path(cage, NULL, path, n > NAME_MAX ? ENAMETOOLONG : errno, unseen,
                               apart);
        if (mark(cage, path, &st, at, &inside) < 0)
            return -1;
        memcpy(name, at, n);
        name[n] = '\0';
        if (!at[n]) {
            rc = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
            if (rc == 0)
                return mark_file(cage, path, &st);
            if (errno == ENOENT && mark_new(cage, path, dir, name) < 0)
                return -1;
            break;
        }
        int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        rc = next < 0 ? -1 : 0;
        (void)close(dir);
        dir = next;
    }
    if (found || (errno != ENOENT && errno != ENOTDIR))
        return refuse_path(cage, NULL, path, errno, unseen, apart);
    return inside && must ? refuse_path(cage, NULL, path, errno,
                                        "which is missing, and the tool could create another one "
                                        "there",
                                        "restore it, or load the policy again")
                          : 0;
}

/* Follows links like those of a granted path: only where no tool can change them. */
static int guard(struct tc_cage *cage, const char *path, bool must)
{
    char real[PATH_MAX];
    int found = tc_resolve_links(&cage->trees->provenance.resolver, path, real);
    if (found < 0)
        return refuse_path(cage, NULL, path, errno,
                           errno == ELOOP ? "through a link that a tool could change"
                                          : "which cannot be found again",
                           errno == ELOOP ? "name the file itself, not a link to it" : apart);
    return walk(cage, path, real, found, must);
}

int tc_tree_guard(struct tc_cage *cage)
{
    const struct tc_plan *plan = cage->plan;
    int rc = 0;
    if (!writes(cage->trees, false))
        return 0;
    /* without namespaces the policy itself gives up this protection */
    if (plan->policy_file && !cage->trees->unmounted)
        rc = guard(cage, plan->policy_file, false);
    for (size_t i = 0; rc == 0 && i < plan->extended.count; i++)
        rc = guard(cage, plan->extended.items[i], true);
    return rc;
}

bool tc_tree_guards(const struct tc_item *item, const char *relative)
{
    for (const struct tc_guarded *g = item->guarded; g; g = g->next)
        if (strcmp(g->relative, relative) == 0)
            return true;
    return false;
}

bool tc_tree_guards_below(const struct tc_item *item, const char *relative)
{
    for (const struct tc_guarded *g = item->guarded; g; g = g->next)
        if (tc_path_within(relative, g->relative))
            return true;
    return false;
}

bool tc_tree_guards_id(const struct tc_trees *t, int dirfd, const char *name, ino_t ino)
{
    for (size_t i = 0; i < t->guarded_count; i++) {
        struct stat st;
        if (t->guarded[i].ino != ino)
            continue;
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno != ENOENT
                                                               : is(&t->guarded[i], &st))
            return true;
    }
    return false;
}
