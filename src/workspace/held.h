/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Staged changes: changes that need approval, that conflict with newer host files, or that would
 * alter files that host programs load or run automatically (steering files), which need an approval
 * that says so. Each call with such
 * changes has a directory in the state directory: a list, and the tool's version as a tree. They
 * are committed like a workspace's, compared with the host's state when the call began. */
#ifndef TC_WORKSPACE_HELD_H
#define TC_WORKSPACE_HELD_H

#include "base/digest.h"
#include "linux/walk.h"
#include "workspace/workspace.h"

/* ---- while the changes of a call are collected ---- */

struct tc_held_tree {
    char *path, *from, *root; /* in the cage, in the policy, on the host */
    char *name, *host_name;   /* of a file granted by itself */
    int64_t inode, uid, gid;  /* of the host's directory */
};

struct tc_held_row {
    int64_t tree;
    char *relative;
    char *kind, *held;      /* NULL: a parent directory without a change */
    int64_t mode;           /* of a directory that the tool made or changed; else 0 */
    int64_t cache;          /* how many bytes of `relative` make it a cache; 0: no cache */
    bool checked;           /* git trusts the file, and its content was verified */
    bool was;               /* the entry existed when the call began: */
    struct tc_version host; /* its version then; equal to no file if the host changed it */
};

struct tc_held_list {
    char *call, *tool;
    int64_t at; /* seconds */
    struct tc_held_tree *trees;
    size_t tree_count;
    struct tc_held_row *rows;
    size_t row_count;
    struct tc_strv denies, named;
    struct tc_steering steering; /* the policy's steering names */
};

void tc_held_visit(struct tc_wire *w, struct tc_held_list *list);
void tc_held_list_done(struct tc_held_list *list);
/* Orders rows by tree and name, for qsort() and bsearch(). */
int tc_held_order(const void *a, const void *b);
/* The path in the cage; owned. */
char *tc_held_path(const struct tc_held_tree *tree, const struct tc_held_row *row);

struct tc_keeping {
    int dir;       /* of all calls' staged changes; -1: nothing is staged */
    int own;       /* this call's, created with the first entry; else -1 */
    char name[40]; /* the name of `own` in `dir` */
    bool must;     /* failing to stage a change is an error */
    bool failed;
    bool shed;         /* only caches were staged: store nothing */
    const char *audit; /* stored beside the list, as it is; NULL: none */
    struct tc_held_list list;
};

/* Opens the directory of all staged changes, like tc_state_open() and tc_state_look(). */
int tc_held_open(const char **ret_where);
int tc_held_look(void);
/* How a staged entry is listed. */
struct tc_save {
    const char *kind, *held;
    size_t cache; /* how many bytes of its name make it a cache */
    bool checked; /* as in the row */
};

/* Starts the list of staged changes for plan->call. */
void tc_keeping_begin(struct tc_keeping *k, int dir, const struct tc_plan *plan);
/* Stages an entry of the private workspace. */
void tc_save_entry(struct tc_keeping *k, const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e, const struct tc_save *keep);
/* Stages a removal. */
void tc_save_removal(struct tc_keeping *k, const struct tc_cage *cage,
                     const struct tc_copied *entry, const char *held);
/* Drops the staged changes and marks their rows in *found as discarded if they are all caches,
 * which would otherwise use up the store. `held`: only if that is the reason for all; NULL: any
 * reason. */
void tc_keeping_shed(struct tc_keeping *k, struct tc_outcome *found, const char *held);
/* Forgets what was staged, and keeps the call's stored changes. */
void tc_keeping_drop(struct tc_keeping *k);
/* Replaces the call's stored changes by the new ones; if there are none, deletes the old. 0, or -1
 * with errno: changes were lost. */
int tc_keeping_end(struct tc_keeping *k);

/* ---- review ---- */

enum tc_held_action {
    TC_HELD_SHOW,
    TC_HELD_ABOUT, /* their number, digest and `audit` only */
    TC_HELD_COMMIT,
    TC_HELD_OVERWRITE, /* newer host files, too */
    TC_HELD_STEERING,  /* steering files, too */
    TC_HELD_DISCARD
};

/* Lists the calls with staged changes in outcome->waiting. */
int tc_held_calls(struct tc_outcome *outcome);
/* Shows, commits or discards the changes of one call; they, or the results, are in
 * outcome->changes. TC_HELD_ABOUT fills outcome->audit, and if there is one, outcome->waiting and
 * outcome->seen, as far as the list and the changes can be read. `paths` selects changes at or
 * below these paths of the cage; none: all. The others stay staged. Shown without paths,
 * outcome->seen is the digest of all. `seen`: only if the changes still have this digest; NULL:
 * whatever they are. 0, or -1 with the failure written. */
int tc_held_settle(const char *call, enum tc_held_action action, const struct tc_strv *paths,
                   const char *seen, struct tc_outcome *outcome);
/* The `audit` of a call's staged changes; owned, NULL: none. 0, or -1 with errno. */
int tc_held_audit(int own, char **ret);
/* held_digest.c: the digest of all staged changes in `own`. 0, or -1 with errno: some could not be
 * read. */
int tc_held_digest(int own, struct tc_held_list *list, char ret[TC_DIGEST_SIZE]);
/* Removes the unfinished directories of dead processes; returns how many. */
unsigned tc_held_sweep(void);

#endif
