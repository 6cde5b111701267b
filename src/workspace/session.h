/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sessions: a call's private /tmp and the layers over its workspace are restored for the next call.
 * Between calls a session is only a directory in the state directory: a record, and the tree that
 * the record names. Other trees are ignored, so renaming the record switches from one call's state
 * to the next. */
#ifndef TC_WORKSPACE_SESSION_H
#define TC_WORKSPACE_SESSION_H

#include "workspace/held.h"

struct tc_session_record {
    char *name, *tool, *bounds;
    int64_t generation;               /* part of the tree's name */
    int64_t calls, bytes, made, used; /* times in seconds */
    struct tc_held_list list;         /* of the workspace: the host's version under each change */
};

/* ---- session.c: the files of a session ---- */
void tc_session_visit(struct tc_wire *w, struct tc_session_record *record);
void tc_session_record_done(struct tc_session_record *record);
/* 0, or -1 with errno; ENOENT: nothing was stored yet. */
int tc_session_read(int own, struct tc_session_record *ret);
/* Replaces the record by one rename. */
int tc_session_write(int own, struct tc_session_record *record);
/* The name of the tree, "g12". */
void tc_session_tree(int64_t generation, char ret[24]);

struct tc_session {
    int own;  /* the locked directory */
    int tree; /* the stored tree; -1: none yet */
    size_t restored;
    struct tc_session_record record; /* rows sorted by tree and name */
};

/* ---- session.c: before the tool starts, on a thread that may block ---- */

/* Opens and locks the plan's session. 0 (also without one), or -1 with the failure written. */
int tc_session_open(struct tc_cage *cage);
/* Releases the lock, after the state was stored. */
void tc_session_let_go(struct tc_workspace *w);
void tc_session_free(struct tc_workspace *w);

/* Lists all sessions in outcome->sessions. */
int tc_session_list(struct tc_outcome *outcome);
/* Adds one session. 0, or -1 with the failure written. */
int tc_session_add_row(struct tc_outcome *o, const char *name, const struct tc_session_record *r);
/* Deletes a session; "": all that are not in use. Lists the deleted ones in outcome->sessions. */
int tc_session_end(const char *name, struct tc_outcome *outcome);
/* Removes sessions without a record; returns how many. */
unsigned tc_session_sweep(void);

/* ---- session_back.c ---- */

/* Restores the private /tmp, after everything of the grant was created in it. */
int tc_session_restore_tmp(struct tc_cage *cage);
/* Restores a new layer. */
int tc_session_restore_layer(struct tc_cage *cage, const struct tc_item *item);
/* Was every tree restored? 0, or -1 with the failure written. */
int tc_session_restored(struct tc_cage *cage);
/* The session's row for this name; NULL: none. */
const struct tc_held_row *tc_session_row(const struct tc_workspace *w, const struct tc_item *item,
                                         const char *relative);
/* Does an earlier call of the session determine the host version under this name, where an entry of
 * `mode` is now? *ret is that version. It equals no file if the host's entry is newer than the
 * change, or if the result is false. */
bool tc_session_base(const struct tc_workspace *w, const struct tc_item *item, const char *relative,
                     unsigned mode, struct tc_version *ret);

/* ---- session_keep.c: in the process that collects changes ---- */

struct tc_session_keeping {
    struct tc_keeping k; /* k.own is the new tree */
    char tree[24];
    const struct tc_item *item; /* the item that is being stored; NULL: /tmp */
    int64_t bytes, entries;     /* of that item */
    int64_t all;                /* bytes of all items */
    size_t dropped;             /* sockets, pipes and devices */
    const char *over;           /* the limit that was exceeded */
    bool active, failed;
    int errnum;
};

void tc_session_keep_begin(struct tc_session_keeping *s, const struct tc_cage *cage);
/* Stores a change that was not committed to the host. */
void tc_session_keep_entry(struct tc_session_keeping *s, const struct tc_cage *cage,
                           const struct tc_item *item, const struct tc_walk_entry *e,
                           const char *kind, const char *held);
void tc_session_keep_removal(struct tc_session_keeping *s, const struct tc_cage *cage,
                             const struct tc_copied *entry, const char *held);
/* Parts of a layer could not be examined. */
void tc_session_keep_skipped(struct tc_session_keeping *s, int64_t count);
/* Forgets what was stored. */
void tc_session_keep_drop(struct tc_session_keeping *s, const struct tc_cage *cage);
/* Stores /tmp, then replaces the old state. On failure the old state stays, and the failure is
 * written. */
void tc_session_keep_end(struct tc_session_keeping *s, struct tc_cage *cage,
                         struct tc_outcome *found);

#endif
