/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Single writable files: each is copied into its private directory and committed after the call. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "workspace/copy.h"
#include "workspace/held.h"
#include "workspace/journal.h"

/* Copies the file and records both versions. */
static int copy_in(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_trees *t = cage->trees;
    struct tc_workspace *w = cage->workspace;
    struct statx host, after, copy;
    if (!item->id.dev)
        return 0;
    if (statx(item->fd, item->host_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &host) < 0 ||
        tc_workspace_copy_file(item->fd, item->host_name, item->copy, item->name, host.stx_mode) <
            0)
        return -1;
    if (tc_tree_own(t, item->copy, item->name) < 0 ||
        tc_workspace_copy_times(item->copy, item->name, &host) < 0 ||
        statx(item->copy, item->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &copy) < 0)
        return -1;
    /* the file may have been changed or replaced while it was copied */
    const struct tc_version was = tc_workspace_version(&host);
    if (statx(item->fd, item->host_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &after) < 0)
        return -1;
    const struct tc_version now = tc_workspace_version(&after);
    if (!tc_version_same(&was, &now) || host.stx_ino != item->id.ino) {
        errno = ESTALE;
        return -1;
    }
    struct tc_copied *entry = TC_PUSH(w->copied, w->copied_count);
    if (!entry) {
        errno = ENOMEM;
        return -1;
    }
    *entry = (struct tc_copied){.item = item,
                                .relative = item->host_name,
                                .copy = tc_workspace_version(&copy),
                                .host = was};
    return 0;
}

/* Opens the directories for journals and held files, if a file of the call is committed later: only
 * with a journal can an interrupted commit be reported. */
static int open_journals(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    struct tc_workspace *w = cage->workspace;
    const char *where;
    for (size_t i = 0; i < t->item_count && w->journals < 0; i++) {
        const struct tc_item *item = &t->items[i];
        if (!(item->name && !item->part) && !tc_tree_copied(cage->plan, item))
            continue;
        w->journals = tc_tree_keep(t, tc_journal_open(&where));
        w->held = w->journals < 0 ? -1 : tc_tree_keep(t, tc_held_open(&where));
        if (w->held < 0)
            return tc_cage_fail(
                cage,
                TC_WHY_ERRNO(
                    TOOLCAGE_EUNENFORCEABLE, "journal", where, errno,
                    "make it writable for you alone, or set XDG_STATE_HOME to such a directory"),
                tc_cage_unlayered(cage, TC_CLAUSE_FS_WRITE),
                "cannot write a journal of the changes in %s", where);
    }
    return 0;
}

int tc_workspace_single_files(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].name && !t->items[i].part && copy_in(cage, &t->items[i]) < 0)
            return tc_single_file_fail(cage, &t->items[i], errno, "cannot copy ", "");
    return open_journals(cage);
}
