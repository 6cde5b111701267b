/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stages changes, in the process that collects them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "state/store.h"
#include "workspace/copy.h"
#include "workspace/held.h"
#include "workspace/state.h"

/* At most this many calls have staged changes, so that an unattended program cannot fill the disk.
 */
enum { CALLS_MAX = 256 };

static const char store[] = "held"; /* in the state directory */

/* A file in the directory of a call with nothing but steering files: nobody may ever look at those,
 * so they make room for newer ones. */
static const char optional[] = "optional";

static const char rules[] = "audit"; /* a file there, too */

int tc_held_open(const char **ret_where)
{
    return tc_state_open(store, ret_where);
}

int tc_held_look(void)
{
    return tc_state_look(store);
}

void tc_keeping_begin(struct tc_keeping *k, int dir, const struct tc_plan *plan)
{
    const char *call = plan->call, *tool = plan->tool;
    *k = (struct tc_keeping){.dir = dir, .own = -1, .must = plan->commit == TC_COMMIT_ASK};
    (void)snprintf(k->name, sizeof(k->name), "%.30s.new", call ? call : "");
    k->audit = plan->audit;
    k->list.call = strdup(call ? call : "");
    k->list.tool = tool ? strdup(tool) : NULL;
    k->list.at = (int64_t)time(NULL);
    k->failed = !k->list.call || (tool && !k->list.tool);
}

/* Stores what a later commit needs: denied paths, single writable files inside trees, and steering
 * names. */
static bool add_parts(struct tc_held_list *list, const struct tc_cage *cage)
{
    const struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < cage->plan->deny_count; i++)
        if (!tc_strv_add(&list->denies, cage->plan->denies[i].path))
            return false;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].part && !tc_strv_add(&list->named, t->items[i].path))
            return false;
    return tc_steering_copy(&list->steering, &cage->plan->steering);
}

/* Removes the oldest call that is optional: the names of calls are in the order of time. */
static bool make_room(int dir)
{
    _autodir_ DIR *all = tc_list_dir(dir);
    char oldest[NAME_MAX + 1] = "";
    struct dirent *e;
    while (all && tc_next_entry(all, &e) > 0) {
        _autofd_ int own = tc_store_enter(dir, e->d_name);
        if (own >= 0 && faccessat(own, optional, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
            (!oldest[0] || strcmp(e->d_name, oldest) < 0))
            tc_strcopy(oldest, sizeof(oldest), e->d_name);
    }
    _autofd_ int own = oldest[0] ? tc_store_enter(dir, oldest) : -1;
    return own >= 0 && tc_store_lock(own, false) == 0 && tc_remove_tree(dir, oldest) == 0;
}

static bool open_own(struct tc_keeping *k, const struct tc_cage *cage)
{
    if (k->own >= 0)
        return true;
    if (k->dir < 0)
        return false;
    k->own = tc_store_claim(k->dir, k->name, CALLS_MAX);
    if (k->own < 0 && errno == EDQUOT && make_room(k->dir))
        k->own = tc_store_claim(k->dir, k->name, CALLS_MAX);
    return k->own >= 0 && add_parts(&k->list, cage);
}

static char *root_of(const struct tc_item *item)
{
    char root[PATH_MAX];
    return tc_resolve_name(item->fd, root) < 0 ? NULL : strdup(root);
}

static char *copy_or_null(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

/* Returns the number of the item's tree, and adds the tree if it is new; -1: failure. */
static int64_t tree_of(struct tc_keeping *k, const struct tc_item *item)
{
    struct stat st;
    char number[24];
    for (size_t i = 0; i < k->list.tree_count; i++)
        if (strcmp(k->list.trees[i].path, item->path) == 0)
            return (int64_t)i;
    struct tc_held_tree *t =
        fstat(item->fd, &st) < 0 ? NULL : TC_PUSH(k->list.trees, k->list.tree_count);
    if (!t)
        return -1;
    bool failed = false;
    *t = (struct tc_held_tree){.path = copy_or_null(item->path, &failed),
                               .from = copy_or_null(item->mount->from, &failed),
                               .root = root_of(item),
                               .name = copy_or_null(item->name, &failed),
                               .host_name = copy_or_null(item->host_name, &failed),
                               .inode = (int64_t)st.st_ino,
                               .uid = item->uid,
                               .gid = item->gid};
    (void)snprintf(number, sizeof(number), "%zu", k->list.tree_count - 1);
    if (failed || !t->root || mkdirat(k->own, number, 0700) < 0)
        return -1;
    return (int64_t)k->list.tree_count - 1;
}

static bool add_row(struct tc_keeping *k, int64_t tree, const char *relative,
                    const struct tc_save *keep, int64_t mode, const struct tc_copied *base)
{
    struct tc_held_row *row = TC_PUSH(k->list.rows, k->list.row_count);
    bool failed = !row;
    if (!row)
        return false;
    *row = (struct tc_held_row){.tree = tree,
                                .relative = copy_or_null(relative, &failed),
                                .kind = copy_or_null(keep->kind, &failed),
                                .held = copy_or_null(keep->held, &failed),
                                .mode = mode,
                                .cache = (int64_t)keep->cache,
                                .checked = keep->checked,
                                .was = base != NULL};
    if (base) {
        row->host =
            base->host; /* empty if the host changed the entry: its old mode is still shown */
        row->host.mode = base->host.mode ? base->host.mode : base->copy.mode;
    }
    return !failed;
}

/* Creates missing parent directories, and records each as an unchanged directory (no `kind`). */
static bool make_way(struct tc_keeping *k, int64_t tree, char *place)
{
    static const struct tc_copied directory = {.host.mode = S_IFDIR};
    char *start = strchr(place, '/') + 1;
    for (char *slash = strchr(start, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdirat(k->own, place, 0700);
        bool fine = rc == 0 ? add_row(k, tree, start, &(struct tc_save){0}, 0, &directory)
                            : errno == EEXIST;
        *slash = '/';
        if (!fine)
            return false;
    }
    return true;
}

static bool copy_entry(struct tc_keeping *k, const struct tc_walk_entry *e, const char *place)
{
    if (S_ISDIR(e->st->stx_mode))
        return mkdirat(k->own, place, (e->st->stx_mode & 0777) | 0700) == 0;
    bool file = S_ISREG(e->st->stx_mode);
    return (file || S_ISLNK(e->st->stx_mode)) && tc_workspace_copy_entry(e, k->own, place) == 0 &&
           (!file || tc_workspace_copy_times(k->own, place, e->st) == 0);
}

void tc_save_entry(struct tc_keeping *k, const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e, const struct tc_save *keep)
{
    bool fine = !k->failed && open_own(k, cage);
    int64_t tree = fine ? tree_of(k, item) : -1;
    _autofree_ char *place =
        tree < 0 ? NULL
                 : tc_format("%lld/%s", (long long)tree, item->name ? item->name : e->relative);
    k->failed = !place || !make_way(k, tree, place) || !copy_entry(k, e, place) ||
                !add_row(k, tree, e->relative, keep, S_ISDIR(e->st->stx_mode) ? e->st->stx_mode : 0,
                         tc_commit_base(cage->workspace, item, e->relative));
}

void tc_save_removal(struct tc_keeping *k, const struct tc_cage *cage,
                     const struct tc_copied *entry, const char *held)
{
    bool fine = !k->failed && open_own(k, cage);
    int64_t tree = fine ? tree_of(k, entry->item) : -1;
    k->failed = tree < 0 || !add_row(k, tree, entry->relative,
                                     &(struct tc_save){.kind = "deleted", .held = held}, 0, entry);
}

static bool only_steering(const struct tc_held_list *list)
{
    for (size_t i = 0; i < list->row_count; i++)
        if (list->rows[i].kind && strcmp(list->rows[i].held, tc_commit_steering) != 0)
            return false;
    return true;
}

int tc_held_audit(int own, char **ret)
{
    enum { MOST = 64 << 10 };
    _autobuf_ struct tc_buf text = {.max = MOST};
    *ret = NULL;
    if (tc_read_file(own, rules, &text) < 0)
        return errno == ENOENT ? 0 : -1;
    *ret = tc_buf_steal(&text);
    errno = EBADMSG;
    return *ret ? 0 : -1;
}

static int write_list(struct tc_keeping *k)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_held_visit(&w, &k->list);
    _autofd_ int fd =
        w.failed
            ? -1
            : openat(k->own, "list", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -1 : tc_write_all(fd, w.out.data, w.out.len);
    if (rc == 0 && k->audit)
        rc = tc_put_file(k->own, rules, k->audit, strlen(k->audit), 0600);
    if (rc == 0 && !k->must && only_steering(&k->list))
        rc = tc_put_file(k->own, optional, "", 0, 0600);
    tc_buf_done(&w.out);
    return rc;
}

/* If all staged changes are caches (with `held`: all for that reason), stores none and lists them
 * as discarded. */
void tc_keeping_shed(struct tc_keeping *k, struct tc_outcome *found, const char *held)
{
    static const char discarded[] = "discarded";
    bool only_caches = k->own >= 0 && !k->failed;
    for (size_t i = 0; only_caches && i < k->list.row_count; i++) {
        const struct tc_held_row *row = &k->list.rows[i];
        only_caches = !row->kind || (row->cache && (!held || !strcmp(row->held, held)));
    }
    k->shed = only_caches;
    for (size_t i = 0; only_caches && i < found->change_count; i++) {
        struct tc_change *c = &found->changes[i];
        char *word = c->cache && c->held ? strdup(discarded) : NULL;
        if (word) {
            free(c->held);
            c->held = word;
        }
    }
}

/* Replaces the call's stored changes by the new ones. */
static int finish_keeping(struct tc_keeping *k)
{
    const char *call = k->list.call;
    if (k->failed || k->dir < 0)
        return k->failed ? -1 : 0;
    if (k->own >= 0 && !k->shed && write_list(k) < 0)
        return -1;
    if (tc_remove_tree(k->dir, call) < 0 && errno != ENOENT)
        return -1;
    if (k->shed)
        return tc_remove_tree(k->dir, k->name);
    return k->own < 0 ? 0 : renameat(k->dir, k->name, k->dir, call);
}

static void keeping_done(struct tc_keeping *k)
{
    if (k->own >= 0)
        (void)close(k->own);
    tc_held_list_done(&k->list);
    *k = (struct tc_keeping){.dir = -1, .own = -1};
}

void tc_keeping_drop(struct tc_keeping *k)
{
    if (k->own >= 0)
        (void)tc_remove_tree(k->dir, k->name);
    keeping_done(k);
}

int tc_keeping_end(struct tc_keeping *k)
{
    int rc = finish_keeping(k), saved = errno;
    bool must = k->must; /* a lost change is an error only with commit = "ask" */
    if (rc < 0)
        tc_keeping_drop(k);
    else
        keeping_done(k);
    errno = saved;
    return must ? rc : 0;
}
