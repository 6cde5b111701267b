/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The journals of commits to the host. Each commit has a file, locked while its process lives, and
 * removed or emptied at its regular end. A file without a live owner is an interrupted commit: a
 * complete list of steps is completed, and what was staged without one is removed. That is reported
 * until the user clears it. */
#ifndef TC_WORKSPACE_JOURNAL_H
#define TC_WORKSPACE_JOURNAL_H

#include "workspace/steps.h"
#include "workspace/workspace.h"

/* Opens the directory of journals, which is created if it is missing. An fd, or -1 with errno and
 * the state directory in *ret_where (may be NULL). Thread-safe. */
int tc_journal_open(const char **ret_where);

/* In the process that commits. */
struct tc_journal {
    int dir, fd;
    bool lasting;       /* the file serves all commits of this process, one after the other */
    char name[24];      /* of the journal file */
    char temporary[40]; /* prefix of the names of staged files */
    const char *tool;   /* borrowed */
    int64_t size;
    size_t root; /* the last one that was noted; SIZE_MAX: none */
};
/* 0, or -1 with errno. A process with lasting journals calls tc_journal_close() when it exits. */
int tc_journal_begin(struct tc_journal *j, int dir, const char *tool, bool lasting);
/* Notes that new versions are about to be staged there. 0, or -1: then they must not. */
int tc_journal_stage(struct tc_journal *j, const struct tc_steps *s, const struct tc_step_place *p);
/* Stores the complete list, and prepares it to count steps. 0, or -1: then nothing may change. */
int tc_journal_list(struct tc_journal *j, struct tc_steps *s);
void tc_journal_end(struct tc_journal *j);
/* Leaves the list to a sweep, which completes the commit. */
void tc_journal_leave(struct tc_journal *j);
void tc_journal_close(void);

/* Completes the commits of dead processes, or as much as is possible; returns how many.
 * Thread-safe. */
unsigned tc_journal_sweep(void);
/* A line for each interrupted commit, or NULL: none. Owned by the caller. */
char *tc_journal_cuts(void);
/* One line for the first call after a sweep that found interrupted commits, else NULL; owned. */
char *tc_journal_notice(void);
/* Deletes the records of interrupted commits, and gives up those that wait; returns how many. */
unsigned tc_journal_forget(void);

#endif
