/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes that wait for a person: what a call may not bring back without a yes, and what met newer
 * work of the host or would steer it. They are kept in the state directory, a directory a call: a
 * list, and what the tool made as a tree of its own. From there they come back in the same way as
 * from a workspace, compared with what the host was when the call began. */
#ifndef TC_WORKSPACE_HELD_H
#define TC_WORKSPACE_HELD_H

#include "linux/walk.h"
#include "workspace/workspace.h"

/* ---- while a call's changes are gathered ---- */

struct tc_held_tree {
    char *path, *from, *root; /* in the cage, in the policy's words, on the host */
    char *name, *host_name;   /* of a file that was granted by itself */
    int64_t inode, uid, gid;  /* of the directory on the host */
};

struct tc_held_row {
    int64_t tree;
    char *relative;
    char *kind, *held;      /* NULL: a directory on the way to others */
    int64_t mode;           /* of a directory that the tool changed or made; else 0 */
    int64_t cache;          /* how much of `relative` makes it a cache; 0: it is none */
    bool checked;           /* git trusts it, and its content was checked */
    bool was;               /* something stood there when the call began: */
    struct tc_version host; /* this, or nothing that can be equal to what stands there now */
};

struct tc_held_list {
    char *call, *tool;
    int64_t at; /* seconds */
    struct tc_held_tree *trees;
    size_t tree_count;
    struct tc_held_row *rows;
    size_t row_count;
    struct tc_strv denies, named;
    struct tc_steering steering; /* the policy's names */
};

void tc_held_visit(struct tc_wire *w, struct tc_held_list *list);
void tc_held_list_done(struct tc_held_list *list);
/* Two rows, by tree and name: for qsort() and bsearch(). */
int tc_held_order(const void *a, const void *b);
/* As the tool saw it; owned. */
char *tc_held_path(const struct tc_held_tree *tree, const struct tc_held_row *row);

struct tc_keeping {
    int dir;       /* of all held calls; -1: nothing is kept */
    int own;       /* this call's, made with the first entry; else -1 */
    char name[40]; /* in `dir` */
    bool must;     /* what cannot be kept is lost; else the host has what counts */
    bool failed;
    bool shed; /* nothing of it is worth keeping */
    struct tc_held_list list;
};

/* The directory of all held calls; as tc_state_open() and tc_state_look(). */
int tc_held_open(const char **ret_where);
int tc_held_look(void);
/* What is said of an entry that stays away. */
struct tc_save {
    const char *kind, *held;
    size_t cache; /* how much of its name makes it one */
    bool checked; /* as of the row */
};

/* `call` is its id. */
void tc_keeping_begin(struct tc_keeping *k, int dir, const struct tc_plan *plan);
/* An entry of the private workspace that stays away from the host. */
void tc_save_entry(struct tc_keeping *k, const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e, const struct tc_save *keep);
/* A removal. */
void tc_save_removal(struct tc_keeping *k, const struct tc_cage *cage,
                     const struct tc_copied *entry, const char *held);
/* A yes to the rest may leave only caches, which would stay for ever, and fill the room of others:
 * then nothing of them stays, and their rows say so. `held`: only if that holds them; NULL: any
 * reason. */
void tc_keeping_shed(struct tc_keeping *k, struct tc_outcome *found, const char *held);
/* What was kept replaces what is kept of the call; nothing kept: nothing stays. 0, or -1 with
 * errno: something is lost. */
int tc_keeping_end(struct tc_keeping *k);

/* ---- afterwards ---- */

enum tc_held_action {
    TC_HELD_SHOW,
    TC_HELD_COMMIT,
    TC_HELD_OVERWRITE, /* also what is newer on the host */
    TC_HELD_DISCARD
};

/* All of them into outcome->waiting. */
int tc_held_calls(struct tc_outcome *outcome);
/* One; what there is, or what became of it, into outcome->changes. `paths` are the changes that are
 * meant, as the tool saw them, with what lies below; none: all. The others stay held. 0, or -1 with
 * the failure written. */
int tc_held_settle(const char *call, enum tc_held_action action, const struct tc_strv *paths,
                   struct tc_outcome *outcome);
/* Removes what was under way when its process died; how many. */
unsigned tc_held_sweep(void);

#endif
