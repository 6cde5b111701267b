/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A tool's workspace: copies and overlays of granted directories, and the changes in them, which
 * are listed, committed to the host, staged for approval, or stored for the next call of a session.
 * Needs the granted paths of a cage but no running cage: staged changes are committed long after
 * the cage was released. */
#ifndef TC_WORKSPACE_WORKSPACE_H
#define TC_WORKSPACE_WORKSPACE_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "tree/tree.h"

struct tc_choice;
struct tc_journal;
struct tc_session;
struct tc_steps;
struct tc_walk_entry;

/* Identifies one state of a file. */
struct tc_version {
    uint64_t inode, size;
    unsigned mode;
    struct statx_timestamp mtime, ctime;
};

/* An entry of a copied workspace, with the states of the copy and of the host's file when the entry
 * was copied. */
struct tc_copied {
    const struct tc_item *item;
    const char *relative;
    struct tc_version copy, host;
};

/* A name in an overlaid workspace when the call began. */
struct tc_overlay_place {
    const struct tc_item *item;
    const char *relative;
    uint64_t inode; /* of a directory; else 0 */
    unsigned mode;  /* of a directory; else 0 */
    dev_t device;
};

/* A file that the tool may have moved to a name that steers the host: it stays where it was until
 * the new name is approved. */
struct tc_moved {
    const struct tc_item *item;
    uint64_t size;
    struct statx_timestamp mtime;
};

/* A layer of an overlay on the disk of the workspace, in the store of such layers. */
struct tc_disk_layer {
    int store; /* borrowed from the cage's trees */
    char *name;
    const struct tc_item *item;
};

/* The workspace state of one cage, at cage->workspace. */
struct tc_workspace {
    struct timespec started; /* start of the tool, CLOCK_REALTIME_COARSE */
    struct tc_copied *copied;
    size_t copied_count;
    struct tc_overlay_place *places;
    size_t place_count;
    struct tc_moved *moved;
    size_t moved_count;
    struct tc_disk_layer *layers;
    size_t layer_count;
    /* real and monotonic time before the first overlay was opened; no tool may start before file
     * times are later than the first: if `waits`, this is not known yet */
    int64_t opened_ns, opened_us;
    bool waits;
    const char *left; /* the first path that the collection could not reach; NULL: none */
    pid_t collector;  /* the process that collects changes; 0: none */
    int collector_fd, changes_fd;
    _Atomic int64_t *collected; /* shared with the collector: number of changes so far; NULL: it is
                                    not counted */
    bool committing;
    struct tc_outcome *inline_collect; /* the result of a worker thread; NULL: no worker collects */
    bool over;                         /* the changes exceed a worker thread's limits */
    int journals;                      /* directory of journals; -1: nothing will be committed */
    int held;                          /* directory of staged changes; -1: nothing will be staged */
    const struct tc_choice *choice;    /* which staged changes to apply; NULL: this is a call */
    bool overwrite;                    /* replaces newer host files, as the user chose */
    struct tc_journal *journal;        /* in the committing process */
    struct tc_steps *steps;            /* in that process; NULL: nothing can be committed */
    struct tc_session *session;        /* NULL: none */
};

/* The initial value. */
#define TC_WORKSPACE_NEW ((struct tc_workspace){.journals = -1, .held = -1})

/* Notes the start of the tool: later changes are listed. */
void tc_workspace_start(struct tc_workspace *w);
/* Which of the names that the cage keeps read-only does the tool's output complain about, and what
 * to do? Owned; NULL: none, or out of memory. */
char *tc_workspace_explain(const struct tc_cage *cage, const char *output, size_t length);
/* Is the cage's private storage full, in bytes or in inodes? */
bool tc_workspace_full(const struct tc_trees *t);
/* Microseconds until the emptier part of the private storage can be full at the earliest; 0: it is
 * full, INT64_MAX: there is none. */
int64_t tc_workspace_fills_us(const struct tc_trees *t);
/* Does the private storage take long to free? */
bool tc_workspace_large(const struct tc_cage *cage);
/* Frees everything but the fds, which the cage owns. */
void tc_workspace_done(struct tc_workspace *w);
/* Notes the first path that a limit kept the collection from. */
void tc_workspace_left(struct tc_cage *cage, const struct tc_item *item, const char *relative);
/* The failures of collecting, committing and staging, written to *found; each returns -1. errno is
 * the cause, unless a path is known that was not reached. */
int tc_not_gathered(const struct tc_workspace *w, struct tc_outcome *found);
/* `place` is the first of `count` changes that failed, or NULL. `next`: the hint. */
int tc_not_brought_back(struct tc_outcome *found, const char *place, int errnum, size_t count,
                        const char *next);
int tc_not_kept(const struct tc_cage *cage, struct tc_outcome *found);
/* Nothing was committed, because the new versions could not be written `where` (NULL: a journal, in
 * the state directory). */
int tc_not_written(struct tc_outcome *found, const char *where, int errnum, const char *call);

/* place.c: selects what the cage shows at each granted path. */
int tc_workspace_trees(struct tc_cage *cage);
/* Adds the files that tc_workspace_trees() left out because the prestarted cage has them
 * (t->standing), when a new cage replaces that one. */
int tc_workspace_trees_standing(struct tc_cage *cage);
/* masks.c. A mask disappears when a host program replaces the name under it. The tool may then have
 * read denied data, so the call fails. */
void tc_workspace_check_masks(struct tc_cage *cage);
/* collect.c. After the tool has ended: starts to collect changed files, and commits a copied
 * workspace if `commit`. Returns an fd: call again when it is readable; -1: all is collected, or
 * there is nothing to collect. */
int tc_workspace_collect(struct tc_cage *cage, bool commit);
/* The changes are no longer wanted: kills the collector, so that the fd becomes readable, or lets a
 * worker thread finish. False: no collection is running, or a commit has begun, which continues. */
bool tc_workspace_cancel(const struct tc_cage *cage);
/* How many changes the collector has found so far, and committed if it commits; -1: not known. */
int64_t tc_workspace_collected(const struct tc_cage *cage);
/* Writes the changes and the state of the masks into the outcome. Runs in the collecting process or
 * on a worker thread. */
void tc_workspace_gather(struct tc_cage *cage, bool commit);
/* Moves the collected changes to *to; a note or failure stays in *from if *to already has one. */
void tc_workspace_merge(struct tc_outcome *to, struct tc_outcome *from);
/* changes.c */
/* Will the collection commit anything to the host? */
bool tc_workspace_commits(const struct tc_cage *cage, bool commit);
/* Lists the changes of the writable paths in *found, and commits those of copies. */
void tc_workspace_gather_into(struct tc_cage *cage, bool commit, struct tc_outcome *found);

/* ---- overlay.c ---- */

/* Does the tool work on an overlay of this item? */
bool tc_overlay_wanted(const struct tc_plan *plan, const struct tc_item *item);
/* Creates the item's layer, and records what is needed to find the host's own changes later. 0, or
 * -1 with the failure written. `mounts` is the text of mountinfo. */
int tc_overlay_open(struct tc_cage *cage, struct tc_item *item, const char *mounts);
/* In the collecting process: for each name that the layer changes, adds the host's entry from the
 * start of the call to w->copied, as if it had been copied. 0, or -1 with errno: then nothing may
 * be committed. */
int tc_overlay_compare(struct tc_cage *cage, const struct tc_item *item);
/* Does the host's entry of this name in `dir` have the same type, mode and content? A large file
 * counts as another, because a comparison would delay the result. */
bool tc_overlay_same(const struct tc_walk_entry *e, int dir, const struct statx *host);
/* After tc_overlay_compare(): the mode of the item itself when the call began; 0: not known. */
unsigned tc_overlay_mode(const struct tc_workspace *w, const struct tc_item *item);

/* The permissions that a commit applies: the set-group-id bit of directories only. */
static inline unsigned tc_rights(unsigned mode)
{
    return mode & (S_ISDIR(mode) ? S_ISGID | 0777 : 0777);
}

#endif
