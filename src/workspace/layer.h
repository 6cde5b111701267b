/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The layer of an overlay: the directory that receives the tool's changes. */
#ifndef TC_WORKSPACE_LAYER_H
#define TC_WORKSPACE_LAYER_H

#include "linux/walk.h"
#include "workspace/workspace.h"

/* Makes the layer of an item, in item->layers, copy and near. 0, or -1 with errno, what failed and
 * what to do about it. */
int tc_layer_make(struct tc_cage *cage, struct tc_item *item, const char **ret_hint,
                  const char **ret_what);
/* Has the tool changed nothing in the item's layer, if it has one? */
bool tc_layer_untouched(const struct tc_item *item);
/* Can a rename make the layer's entry, a file or a link, the host's? Not if a commit changes it: it
 * has set-id bits, or another owner than the workspace. */
bool tc_layer_moves(const struct tc_cage *cage, const struct tc_item *item,
                    const struct tc_walk_entry *e);
/* Does the host's directory `dir` have another project quota than the item's layer? Then no entry
 * can be renamed from one to the other. */
bool tc_layer_apart(const struct tc_item *item, int dir);
/* Keeps the layers of these names until the journal is gone: a sweep completes the commit. 0, or -1
 * with errno. */
int tc_layers_keep(const struct tc_workspace *w, const char *journal);
/* The commit has ended. */
void tc_layers_free(const struct tc_workspace *w);
/* Opens the new versions in a layer of a dead process. -1 with errno. */
int tc_layer_look(const char *name);
/* Frees the space that the layers reserve for the journal and the list of staged changes. */
void tc_layers_release(const struct tc_workspace *w);
/* What could not be committed or staged stays in its layer, under the name of the call. Returns the
 * first such directory, for the user, owned; NULL: none. */
char *tc_layers_leave(const struct tc_workspace *w, const char *call);
/* Removes the layers that are on a disk. May take long. */
void tc_layers_remove(struct tc_workspace *w);
/* Removes those of dead helpers; returns how many. Thread-safe. */
unsigned tc_layers_sweep(void);

#endif
