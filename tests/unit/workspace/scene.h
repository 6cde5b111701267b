/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call's workspace in ordinary directories, so that neither a mount nor root is needed. Each
 * scene has a directory of its own, which is the working directory: `host` is the granted
 * directory, `copy` the private storage that would be a tmpfs, `state` the state directory. The
 * test plays the tool and the host by lines of sh. */
#ifndef TC_TESTS_UNIT_WORKSPACE_SCENE_H
#define TC_TESTS_UNIT_WORKSPACE_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/tree.h"
#include "workspace/workspace.h"

/* What the tool works in: of an overlay it is the upper layer. */
#define SCENE_COPY "copy"
#define SCENE_UPPER "copy/u"

struct scene {
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_tree_host host;
    struct tc_trees trees;
    struct tc_workspace workspace;
    struct tc_cage cage;
    struct tc_mount mount;
    struct tc_item item;
};

/* Of the private storage: what was asked for; nonzero `errnum`: it cannot be made. */
extern struct scene_storage {
    int64_t bytes, inodes;
    int errnum;
} scene_storage;

/* For the whole program: a place for the scenes, and its end. */
int scenes_open(void **state);
int scenes_close(void **state);

/* Enters the directory of a new scene, with an empty `host`. */
void scene_new(void);
/* Runs a line of sh there, which must succeed; "": nothing. */
void scene_sh(const char *line);

/* Before the call: a plan for a tool of `mode` (enum tc_workspace_mode) and `commit`
 * (enum tc_commit), which the test may still change. */
void scene_plan(struct scene *s, int64_t mode, int64_t commit);
/* The workspace of the call is made. 0, or -1 with the outcome's failure. */
int scene_begin(struct scene *s);
/* The tool has ended: its changes are gathered, and committed where `commit` says so. */
void scene_end(struct scene *s, bool commit);
void scene_done(struct scene *s);

/* The outcome's changes by path: "added d, modified d/a (conflict)". A static buffer. */
const char *scene_changes(const struct tc_outcome *outcome);
/* What a directory of the scene holds by path: "d/ d/a=text l->d". A static buffer. */
const char *scene_tree(const char *directory);
/* Type and rights of a path of the scene as octal digits, "0" where nothing is there. */
unsigned scene_mode(const char *path);

/* Compares, and names the row. */
#define scene_expect(row, what, got, wanted)                                                  \
    do {                                                                                      \
        const char *scene_got = (got);                                                        \
        if (strcmp(scene_got, (wanted)) != 0)                                                 \
            fail_msg("%s: %s\n  is     %s\n  not    %s", (row), (what), scene_got, (wanted)); \
    } while (0)

#endif
