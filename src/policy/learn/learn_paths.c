/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Combines single paths into a grant like one that a person would write: packages as directories, a
 * few files as files, many files as their directory, and never a whole home. */
#include <string.h>

#include "base/path.h"
#include "policy/learn/learn.h"
#include "policy/names/system_paths.h"

enum { MANY = 3 }; /* with this many entries, the whole directory is granted */

static bool same_parent(const char *a, const char *b)
{
    size_t la = (size_t)(tc_path_base(a) - a), lb = (size_t)(tc_path_base(b) - b);
    return la == lb && strncmp(a, b, la) == 0;
}

bool tc_learn_wide(const struct tc_lesson *l, const char *dir)
{
    static const char *const wide[] = {"/etc", "/home", "/root",  "/var", "/opt",
                                       "/srv", "/mnt",  "/media", "/run", "/var/lib"};
    return TC_AMONG(wide, dir) || tc_path_depth(dir) < 1 || same_parent(dir, "/home/x") ||
           (l->home && tc_path_within(dir, l->home));
}

/* Is the path in private storage? Not if it is in the run's directory below the caller's /tmp. */
static bool is_private(const struct tc_lesson *l, const char *path)
{
    bool within = strcmp(l->cwd, "/tmp") != 0 && tc_path_within(l->cwd, path);
    return tc_system_path_private(path) && !(tc_system_path_private(l->cwd) && within);
}

/* Paths that every cage has without a grant. */
static bool needs_nothing(const struct tc_lesson *l, const struct tc_touched *t)
{
    return tc_path_within("/proc", t->path) || tc_path_within("/dev", t->path) ||
           is_private(l, t->path) ||
           (t->how != TC_TOUCH_WRITE &&
            (tc_system_path_find(t->path) || tc_system_shows(l->system, t->path)));
}

/* Adds a path and removes the paths below it. */
static bool add_path(struct tc_strv *set, const char *path)
{
    size_t kept = 0;
    if (tc_path_within_any(set, path))
        return true;
    for (size_t i = 0; i < set->count; i++) {
        if (tc_path_within(path, set->items[i]))
            free(set->items[i]);
        else
            set->items[kept++] = set->items[i];
    }
    set->count = kept;
    if (set->items)
        set->items[kept] = NULL;
    return tc_strv_add(set, path);
}

/* ---- writing ---- */

/* Is it a file that was there before the run, and the only written entry of its directory? Then the
 * file is granted; new and temporary names need a grant of the directory. */
static bool stands_alone(const struct tc_lesson *l, const struct tc_touched *t)
{
    if (!t->there || t->directory || t->made)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const struct tc_touched *other = &l->touched[i];
        if (other->how == TC_TOUCH_WRITE && !other->refused && strcmp(other->path, t->path) != 0 &&
            same_parent(other->path, t->path))
            return false;
    }
    return true;
}

static bool add_written(const struct tc_lesson *l, const struct tc_touched *t, struct tc_strv *set)
{
    _autofree_ char *parent = tc_path_parent(t->path);
    if (!parent)
        return false;
    bool whole = (t->link || !stands_alone(l, t)) && !tc_learn_wide(l, parent);
    return (t->link && !whole) || add_path(set, whole ? parent : t->path);
}

/* ---- reading ---- */

/* The directory of installed packages that contains the path, or NULL. Owned. */
static char *packages_of(const char *path)
{
    static const char *const names[] = {"/site-packages/", "/dist-packages/", "/node_modules/"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        const char *at = strstr(path, names[i]);
        if (at)
            return strndup(path, (size_t)(at - path) + strlen(names[i]) - 1);
    }
    return NULL;
}

static bool add_read(const struct tc_touched *t, const struct tc_strv *writable,
                     struct tc_strv *set)
{
    bool listed = t->directory && t->how == TC_TOUCH_READ && strcmp(t->path, "/") != 0;
    if (t->link || tc_path_within_any(writable, t->path) || (t->directory && !listed))
        return true;
    _autofree_ char *packages = packages_of(t->path);
    return add_path(set, packages ? packages : t->path);
}

/* A directory with many entries in the set, or NULL. Owned. */
static char *crowded(const struct tc_lesson *l, const struct tc_strv *set)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t beside = 0;
        for (size_t j = 0; j < set->count; j++)
            beside += same_parent(set->items[i], set->items[j]);
        _autofree_ char *parent = beside >= MANY ? tc_path_parent(set->items[i]) : NULL;
        if (parent && !tc_learn_wide(l, parent))
            return TAKE(parent);
    }
    return NULL;
}

bool tc_learn_paths(const struct tc_lesson *l, struct tc_strv *readable, struct tc_strv *writable)
{
    bool fine = true;
    for (size_t i = 0; i < l->count && fine; i++) {
        const struct tc_touched *t = &l->touched[i];
        if (t->how == TC_TOUCH_WRITE && !t->refused && !needs_nothing(l, t))
            fine = add_written(l, t, writable);
    }
    for (size_t i = 0; i < l->count && fine; i++) {
        const struct tc_touched *t = &l->touched[i];
        if (t->how != TC_TOUCH_WRITE && !t->refused && t->there && !needs_nothing(l, t))
            fine = add_read(t, writable, readable);
    }
    char *dir;
    while (fine && (dir = crowded(l, readable))) {
        fine = add_path(readable, dir);
        free(dir);
    }
    tc_strv_sort(readable);
    tc_strv_sort(writable);
    return fine;
}
