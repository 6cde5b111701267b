/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The journals of commits to the host. Each commit has a file, locked while its process lives, and
 * removed or emptied at its regular end. A file without a live owner is an interrupted commit: its
 * temporary file is removed, and the interruption is reported until the user clears it. */
#ifndef TC_WORKSPACE_JOURNAL_H
#define TC_WORKSPACE_JOURNAL_H

#include "workspace/workspace.h"

/* Opens the directory of journals, which is created if it is missing. An fd, or -1 with errno and
 * the state directory in *ret_where (may be NULL). Thread-safe. */
int tc_journal_open(const char **ret_where);

/* In the process that commits. */
struct tc_journal {
    int dir, fd;
    bool lasting;       /* the file serves all commits of this process, one after the other */
    char name[24];      /* of the journal file */
    char temporary[40]; /* name of the temporary file next to each target */
    const char *tool;   /* not written yet; borrowed */
    const struct tc_item *item;
};
/* 0, or -1 with errno. A process with lasting journals calls tc_journal_close() when it exits. */
int tc_journal_begin(struct tc_journal *j, int dir, const char *tool, bool lasting);
/* Notes that `relative`, below the item's directory, is about to change. 0, or -1: then it must
 * not. */
int tc_journal_write(struct tc_journal *j, const struct tc_item *item, const char *relative);
void tc_journal_end(struct tc_journal *j);
void tc_journal_close(void);

/* Handles the journals of dead processes; returns how many. Thread-safe. */
unsigned tc_journal_sweep(void);
/* A line for each interrupted commit, or NULL: none. Owned by the caller. */
char *tc_journal_cuts(void);
/* One line for the first call after a sweep that found interrupted commits, else NULL; owned. */
char *tc_journal_notice(void);
/* Deletes the records of interrupted commits; returns how many. */
unsigned tc_journal_forget(void);

#endif
