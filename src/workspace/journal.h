/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The journal of what comes back to the host. Each commit keeps one file, locked while its process
 * lives and gone, or empty, at its regular end. One without a living owner is a commit that was
 * cut: its temporary file is removed, and what came back is told until somebody says that he knows.
 */
#ifndef TC_WORKSPACE_JOURNAL_H
#define TC_WORKSPACE_JOURNAL_H

#include "workspace/workspace.h"

/* The directory of journals, made where it is missing. A descriptor, or -1 with errno and
 * *ret_where (may be NULL) naming it. From any thread. */
int tc_journal_open(const char **ret_where);

/* In the process that commits. */
struct tc_journal {
    int dir, fd;
    bool lasting;       /* its file serves commit after commit of this process */
    char name[24];      /* of its file */
    char temporary[40]; /* of whatever file the commit makes beside its target */
    const char *tool;   /* not written yet; the caller's */
    const struct tc_item *item;
};
/* 0, or -1 with errno. One that lasts is for a process that closes them when it ends. */
int tc_journal_begin(struct tc_journal *j, int dir, const char *tool, bool lasting);
/* `relative` is about to change below the item's directory. 0, or -1: then it must not. */
int tc_journal_write(struct tc_journal *j, const struct tc_item *item, const char *relative);
void tc_journal_end(struct tc_journal *j);
void tc_journal_close(void);

/* Handles what dead owners left; how many there were. From any thread. */
unsigned tc_journal_sweep(void);
/* One line of text a cut commit, or NULL: none. Owned by the caller. */
char *tc_journal_cuts(void);
/* Once, for the first call after a sweep that found cut commits: one line to tell; owned. */
char *tc_journal_notice(void);
/* Forgets them; how many. */
unsigned tc_journal_forget(void);

#endif
