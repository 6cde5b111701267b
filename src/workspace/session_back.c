/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Restores a session's data into the new storage of the next call. No other process writes there
 * yet, and entries made for the grant stay: restored data never replaces a mount point, and above
 * one only directories are restored. No link is followed on either side. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "linux/walk.h"
#include "state/store.h"
#include "workspace/copy.h"
#include "workspace/session.h"

enum { ENTRIES_MAX = 2000000 };

struct putting {
    struct tc_cage *cage;
    const struct tc_item *item; /* NULL: /tmp */
    int to;
};

static int fail_restore(struct tc_cage *cage, const char *what, const char *hint)
{
    return tc_cage_fail(
        cage, TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "session", cage->plan->session, errno, hint), -1,
        "%s of session %s cannot be restored", what, cage->plan->session);
}

/* ---- the rows of a session ---- */

static int64_t tree_of(const struct tc_session *s, const struct tc_item *item)
{
    for (size_t i = 0; i < s->record.list.tree_count; i++)
        if (strcmp(s->record.list.trees[i].path, item->path) == 0)
            return (int64_t)i;
    return -1;
}

const struct tc_held_row *tc_session_row(const struct tc_workspace *w, const struct tc_item *item,
                                         const char *relative)
{
    const struct tc_session *s = w->session;
    const struct tc_held_list *list = s ? &s->record.list : NULL;
    struct tc_held_row key = {.relative = (char *)relative};
    if (!list || !list->rows || item->layers < 0 || (key.tree = tree_of(s, item)) < 0)
        return NULL;
    return bsearch(&key, list->rows, list->row_count, sizeof(*list->rows), tc_held_order);
}

/* Did the session remove this name, or replace a directory by another type? */
static bool closes(const struct tc_session *s, const struct tc_held_row *row)
{
    struct stat st;
    if (!row->kind)
        return false;
    if (strcmp(row->kind, "deleted") == 0)
        return true;
    _autofree_ char *place = tc_format("%lld/%s", (long long)row->tree, row->relative);
    return !place || fstatat(s->tree, place, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode);
}

/* Is there such a row above the name? Then entries that the host has there without a row are
 * newer. */
static bool closed_above(const struct tc_workspace *w, const struct tc_item *item,
                         const char *relative)
{
    char above[PATH_MAX];
    tc_strcopy(above, sizeof(above), relative);
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        const struct tc_held_row *row = tc_session_row(w, item, above);
        if (row && closes(w->session, row))
            return true;
    }
    return false;
}

bool tc_session_base(const struct tc_workspace *w, const struct tc_item *item, const char *relative,
                     unsigned mode, struct tc_version *ret)
{
    const struct tc_held_row *row = tc_session_row(w, item, relative);
    *ret = (struct tc_version){.mode = S_ISDIR(mode) ? 0 : mode};
    if (row && row->kind && row->was)
        *ret = row->host;
    else if (row ? !row->kind && S_ISDIR(mode) : !w->session || !closed_above(w, item, relative))
        return false;
    return true;
}

/* ---- restoring ---- */

static int set_owner(const struct putting *put, int dir, const char *name, bool tools)
{
    const struct tc_trees *t = put->cage->trees;
    uid_t id = tools ? t->id : 0;
    return t->id == (uid_t)-1 ? 0 : fchownat(dir, name, id, (gid_t)id, AT_SYMLINK_NOFOLLOW);
}

/* Is another granted path at or below this name? Then only a directory may be there. */
static bool leads_to_grant(const struct putting *put, const char *relative)
{
    const struct tc_trees *t = put->cage->trees;
    _autofree_ char *path = tc_path_join(put->item ? put->item->path : "/tmp", relative);
    for (size_t i = 0; path && i < t->item_count; i++)
        if (&t->items[i] != put->item && tc_path_within(path, t->items[i].path))
            return true;
    return !path;
}

/* Makes a directory of the layer like the host's directory at this path. If the host's belongs to
 * another user, the new one is not the tool's. */
static int make_like(const struct putting *put, int dir, const char *relative)
{
    struct stat st = {.st_mode = S_IFDIR | 0755};
    const char *name = tc_path_base(relative);
    _autofd_ int below = tc_resolve_beneath(put->item->fd, relative);
    bool there = below >= 0 && fstat(below, &st) == 0 && S_ISDIR(st.st_mode);
    if (mkdirat(dir, name, 0700) < 0 ||
        set_owner(put, dir, name, !there || st.st_uid == put->item->uid) < 0)
        return -1;
    return fchmodat(dir, name, there ? st.st_mode & 0777 : 0755, 0);
}

static int put_directory(const struct putting *put, const struct tc_walk_entry *e, int dir)
{
    const struct tc_workspace *w = put->cage->workspace;
    const char *name = tc_path_base(e->relative);
    const struct tc_held_row *row = put->item ? tc_session_row(w, put->item, e->relative) : NULL;
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return !S_ISDIR(st.st_mode); /* made for the grant */
    if (put->item && !(row && row->kind))
        return make_like(put, dir, e->relative);
    if (mkdirat(dir, name, 0700) < 0 || set_owner(put, dir, name, true) < 0)
        return -1;
    int64_t mode = row && row->mode ? row->mode : e->st->stx_mode;
    return fchmodat(dir, name, mode & 0777, 0);
}

static int put_entry(const struct putting *put, const struct tc_walk_entry *e, int dir)
{
    const char *name = tc_path_base(e->relative);
    if (tc_workspace_copy_entry(e, dir, name) < 0)
        return errno == EEXIST ? 0 : -1; /* made for the grant */
    return set_owner(put, dir, name, true) < 0 ? -1 : tc_workspace_copy_times(dir, name, e->st);
}

static int put_back(void *userdata, const struct tc_walk_entry *e)
{
    const struct putting *put = userdata;
    bool directory = S_ISDIR(e->st->stx_mode);
    errno = put->cage->answered ? ECANCELED : EPERM;
    if (put->cage->answered || e->st->stx_uid != geteuid())
        return -1;
    if (!directory && !S_ISREG(e->st->stx_mode) && !S_ISLNK(e->st->stx_mode))
        return 0;
    if (!directory && leads_to_grant(put, e->relative))
        return 0;
    if (put->item && tc_workspace_denied(put->cage, put->item, e->relative))
        return 1;
    _autofd_ int dir = tc_resolve_parent(put->to, e->relative);
    if (dir < 0)
        return -1;
    return directory ? put_directory(put, e, dir) : put_entry(put, e, dir);
}

/* Sets the times after the entries were restored. */
static void set_times(void *userdata, const struct tc_walk_entry *directory)
{
    const struct putting *put = userdata;
    _autofd_ int dir = tc_resolve_parent(put->to, directory->relative);
    if (dir >= 0)
        (void)tc_workspace_copy_times(dir, tc_path_base(directory->relative), directory->st);
}

static int put_tree(struct putting *put, int from)
{
    struct tc_walk walk = {
        .visit = put_back, .leave = set_times, .userdata = put, .entries_max = ENTRIES_MAX};
    if (tc_walk(&walk, from) < 0)
        return -1;
    errno = E2BIG;
    return walk.skipped ? -1 : 0;
}

static const char why_not[] = "`toolcage session end` deletes the session; `disk` must be "
                              "large enough for it";

int tc_session_restore_tmp(struct tc_cage *cage)
{
    const struct tc_trees *t = cage->trees;
    const struct tc_workspace *w = cage->workspace;
    struct putting put = {.cage = cage, .to = t->storage};
    if (!w->session || w->session->tree < 0)
        return 0;
    _autofd_ int from = tc_store_enter(w->session->tree, "tmp");
    return from >= 0 && put_tree(&put, from) == 0 ? 0 : fail_restore(cage, "/tmp", why_not);
}

/* Makes a parent directory of a removed name. 0; 1: another type is there; or -1. */
static int step_to(const struct putting *put, const char *relative)
{
    struct stat st;
    _autofd_ int dir = tc_resolve_parent(put->to, relative);
    if (dir < 0)
        return -1;
    if (fstatat(dir, tc_path_base(relative), &st, AT_SYMLINK_NOFOLLOW) == 0)
        return !S_ISDIR(st.st_mode);
    return errno == ENOENT ? make_like(put, dir, relative) : -1;
}

/* The layer's directory for a removed name; -1 with errno, which is 0 if a parent is not a
 * directory: then there is nothing to remove. */
static int way_to(const struct putting *put, char *relative)
{
    for (char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = step_to(put, relative);
        *slash = '/';
        if (rc > 0)
            errno = 0;
        if (rc != 0)
            return -1;
    }
    return tc_resolve_parent(put->to, relative);
}

static int put_removal(const struct putting *put, const struct tc_held_row *row)
{
    struct stat st;
    _autofree_ char *relative = strdup(row->relative);
    _autofd_ int host = tc_resolve_parent(put->item->fd, row->relative);
    if (!relative)
        return errno = ENOMEM, -1;
    if (host < 0 || fstatat(host, tc_path_base(row->relative), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return tc_resolve_gone(errno) ? 0 : -1; /* the host has it no longer */
    if (leads_to_grant(put, relative) || tc_workspace_denied(put->cage, put->item, relative))
        return 0;
    _autofd_ int dir = way_to(put, relative);
    if (dir < 0)
        return errno ? -1 : 0;
    return mknodat(dir, tc_path_base(relative), S_IFCHR, 0) < 0 && errno != EEXIST ? -1 : 0;
}

int tc_session_restore_layer(struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_workspace *w = cage->workspace;
    struct putting put = {.cage = cage, .item = item, .to = item->copy};
    struct tc_session *s = w->session;
    int64_t tree = s && s->tree >= 0 ? tree_of(s, item) : -1;
    if (tree < 0)
        return 0;
    _autofree_ char *name = tc_format("%lld", (long long)tree);
    _autofd_ int from = name ? tc_store_enter(s->tree, name) : -1;
    int rc = from < 0 ? -1 : put_tree(&put, from);
    for (size_t i = 0; i < s->record.list.row_count && rc == 0; i++) {
        const struct tc_held_row *row = &s->record.list.rows[i];
        if (row->tree == tree && row->kind && strcmp(row->kind, "deleted") == 0)
            rc = put_removal(&put, row);
    }
    s->restored++;
    return rc == 0 ? 0 : fail_restore(cage, item->path, why_not);
}

int tc_session_restored(struct tc_cage *cage)
{
    const struct tc_session *s = cage->workspace->session;
    if (!s || s->restored == s->record.list.tree_count)
        return 0;
    errno = 0;
    cage->unbound = "its session has changes in an overlay";
    return fail_restore(
        cage, "the changes in the workspace",
        "every directory that the session changed must exist, as an overlay; or end "
        "the session");
}
