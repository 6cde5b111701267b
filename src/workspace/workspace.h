/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a tool works on, and what becomes of it: copies and overlays of granted directories, changes
 * that are listed, brought back, held for a person, or kept for the next call of a session. Needs
 * the granted paths of a cage, but no cage: what was held is brought back when that is long gone.
 */
#ifndef TC_WORKSPACE_WORKSPACE_H
#define TC_WORKSPACE_WORKSPACE_H

#include "tree/tree.h"

struct tc_choice;
struct tc_journal;
struct tc_session;

/* What tells one state of a file from another. */
struct tc_version {
    uint64_t inode, size;
    unsigned mode;
    struct statx_timestamp mtime, ctime;
};

/* One entry of a copied workspace, when it was copied. */
struct tc_copied {
    const struct tc_item *item;
    const char *relative;
    struct tc_version copy, host;
};

/* A name of an overlaid workspace, when the call began. */
struct tc_overlay_place {
    const struct tc_item *item;
    const char *relative;
    uint64_t inode; /* of a directory; of nothing else */
    unsigned mode;  /* so is this */
    dev_t device;
};

/* The state of this room for one cage, at cage->workspace. */
struct tc_workspace {
    struct timespec started; /* real time */
    struct tc_copied *copied;
    size_t copied_count;
    struct tc_overlay_place *places;
    size_t place_count;
    int64_t opened_ns, opened_us; /* real and monotonic time before the first look at an overlay */
    const char *left;             /* where the gathering was not; NULL: it was everywhere */
    pid_t collector;              /* gathers changes; 0: none */
    int collector_fd, changes_fd;
    bool committing;
    struct tc_outcome *inline_collect; /* what a worker gathers; NULL: none does */
    bool over;                         /* that was too much for a worker */
    int journals;                      /* directory of journals; -1: nothing will come back */
    int held;                          /* directory of what waits for a person; -1: nothing will */
    const struct tc_choice *choice;    /* of what was held; NULL: this is the call itself */
    bool overwrite;                    /* a person says so of newer work of the host */
    struct tc_journal *journal;        /* in the process that commits */
    struct tc_session *session;        /* NULL: none */
};

/* What a new one is. */
#define TC_WORKSPACE_NEW ((struct tc_workspace){.journals = -1, .held = -1})

/* The tool starts: what is changed from here on is its work, or the host's meanwhile. */
void tc_workspace_start(struct tc_workspace *w);
/* Is private storage of the cage full, in bytes or in files? */
bool tc_workspace_full(const struct tc_trees *t);
/* Does it take long to free? */
bool tc_workspace_large(const struct tc_trees *t);
/* Frees all but descriptors, which are the cage's. */
void tc_workspace_done(struct tc_workspace *w);
/* Remembers the first place of which a bound kept the gathering out. */
void tc_workspace_left(struct tc_cage *cage, const struct tc_item *item, const char *relative);
/* What was not gathered, brought back or kept, into *found; each returns -1. errno says why, where
 * no place is known that was left out. */
int tc_not_gathered(const struct tc_workspace *w, struct tc_outcome *found);
/* `place` is the first of so many, or NULL. */
int tc_not_brought_back(struct tc_outcome *found, const char *place, int errnum, size_t count);
int tc_not_kept(struct tc_outcome *found);

/* place.c: what stands at each granted path. */
int tc_workspace_trees(struct tc_cage *cage);
/* What was left out because it stood there already, for another cage in place of that one: files.
 */
int tc_workspace_trees_standing(struct tc_cage *cage);
/* masks.c. A mask vanishes when a host program replaces the name under it; then the tool may have
 * seen what the policy denies, and the call has failed. */
void tc_workspace_check_masks(struct tc_cage *cage);
/* collect.c. After the end: begins to gather changed files (and to commit a copied workspace when
 * `commit` says so). A descriptor: it is called again when that is ready; -1: all is gathered, or
 * there is nothing to gather from. */
int tc_workspace_collect(struct tc_cage *cage, bool commit);
/* Nobody waits for the changes any more: ends the gathering, so that the descriptor becomes ready,
 * or leaves a worker to come to its end; false when none goes on, or a commit has begun, which goes
 * on. */
bool tc_workspace_cancel(const struct tc_cage *cage);
/* What was changed, and whether the masks held, into the outcome. In the process that gathers, or
 * on a worker. */
void tc_workspace_gather(struct tc_cage *cage, bool commit);
/* Of what was gathered nothing is left in *from but what is told already. */
void tc_workspace_merge(struct tc_outcome *to, struct tc_outcome *from);
/* changes.c */
/* Will anything come back to the host? */
bool tc_workspace_commits(const struct tc_cage *cage, bool commit);
/* What was changed in the writable paths, into *found; brings back what was copied. */
void tc_workspace_gather_into(struct tc_cage *cage, bool commit, struct tc_outcome *found);

/* ---- overlay.c ---- */

/* Does the tool work on an overlay of this item? */
bool tc_overlay_wanted(const struct tc_plan *plan, const struct tc_item *item);
/* Makes the item's layer, and notes what is needed to see later what the host changed meanwhile.
 * 0, or -1 with the failure written. `mounts`
 * is the text of mountinfo. */
int tc_overlay_open(struct tc_cage *cage, struct tc_item *item, const char *mounts);
/* After the end, in the process that gathers: what stood on the host, when the call began, wherever
 * the layer says something else; into p->copied, as if it had been copied. 0, or -1 with errno:
 * then nothing may come back. */
int tc_overlay_compare(struct tc_cage *cage, const struct tc_item *item);

#endif
