/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sessions: what one call leaves in its private /tmp and in the layers over its workspace is there
 * again for the next one. Between the calls there is a directory in the state directory and nothing
 * else: a record, and a tree that the record names. A tree that no record names is nothing, so the
 * one rename of the record is the whole change from one call's state to the next. */
#ifndef TC_WORKSPACE_SESSION_H
#define TC_WORKSPACE_SESSION_H

#include "workspace/held.h"

struct tc_session_record {
    char *name, *tool, *bounds;
    int64_t generation;               /* names the tree */
    int64_t calls, bytes, made, used; /* times in seconds */
    struct tc_held_list list; /* of the workspace: what stood on the host under each change */
};

/* ---- session.c: as it stands on disk ---- */
void tc_session_visit(struct tc_wire *w, struct tc_session_record *record);
void tc_session_record_done(struct tc_session_record *record);
/* 0, or -1 with errno; ENOENT: nothing was ever kept. */
int tc_session_read(int own, struct tc_session_record *ret);
/* One rename puts it in the place of the old one. */
int tc_session_write(int own, struct tc_session_record *record);
/* "g12" */
void tc_session_tree(int64_t generation, char ret[24]);

struct tc_session {
    int own;  /* its directory, locked */
    int tree; /* what was kept; -1: nothing yet */
    size_t restored;
    struct tc_session_record record; /* rows in order of tree and name */
};

/* ---- session.c: before the tool starts, on a thread that may wait ---- */

/* Opens and locks the session that the plan names. 0 (also where it names none), or -1 with the
 * failure written. */
int tc_session_open(struct tc_cage *cage);
/* The call goes on without the lock; what was to be kept is kept. */
void tc_session_let_go(struct tc_workspace *w);
void tc_session_free(struct tc_workspace *w);

/* All of them into outcome->sessions. */
int tc_session_list(struct tc_outcome *outcome);
/* One of them. 0, or -1 with the failure written. */
int tc_session_add_row(struct tc_outcome *o, const char *name, const struct tc_session_record *r);
/* Throws one away; "": all that are not in use. Those that went into outcome->sessions. */
int tc_session_end(const char *name, struct tc_outcome *outcome);
/* Removes what never came to hold anything; how many. */
unsigned tc_session_sweep(void);

/* ---- session_back.c ---- */

/* The private /tmp, when everything of the grant stands in it. */
int tc_session_restore_tmp(struct tc_cage *cage);
/* A new layer. */
int tc_session_restore_layer(struct tc_cage *cage, const struct tc_item *item);
/* Was every tree put back? */
int tc_session_restored(struct tc_cage *cage);
/* What the session says of this name; NULL: nothing. */
const struct tc_held_row *tc_session_row(const struct tc_workspace *w, const struct tc_item *item,
                                         const char *relative);
/* Does an earlier call of the session say what stood on the host under this name, of which `mode`
 * stands there now? A version that nothing can equal stands for what is newer than the change, and
 * is in *ret also where nothing is said. */
bool tc_session_base(const struct tc_workspace *w, const struct tc_item *item, const char *relative,
                     unsigned mode, struct tc_version *ret);

/* ---- session_keep.c: in the process that gathers the changes ---- */

struct tc_session_keeping {
    struct tc_keeping k; /* its `own` is the new tree */
    char tree[24];
    const struct tc_item *item; /* whose entries come; NULL: /tmp */
    int64_t bytes, entries;     /* of it */
    int64_t all;                /* bytes of everything */
    size_t dropped;             /* sockets and the like */
    const char *over;           /* the limit that it goes over */
    bool active, failed;
    int errnum;
};

void tc_session_keep_begin(struct tc_session_keeping *s, const struct tc_cage *cage);
/* A change that did not reach the host. */
void tc_session_keep_entry(struct tc_session_keeping *s, const struct tc_cage *cage,
                           const struct tc_item *item, const struct tc_walk_entry *e,
                           const char *kind, const char *held);
void tc_session_keep_removal(struct tc_session_keeping *s, const struct tc_cage *cage,
                             const struct tc_copied *entry, const char *held);
/* Something of a layer could not be looked at. */
void tc_session_keep_skipped(struct tc_session_keeping *s, int64_t count);
/* /tmp, and then all of it takes the place of the old. Where that cannot be the old stays, and the
 * failure is written. */
void tc_session_keep_end(struct tc_session_keeping *s, struct tc_cage *cage,
                         struct tc_outcome *found);

#endif
