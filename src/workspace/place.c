/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Selects what a cage shows at each granted path: a copy, an overlay, private storage, or the
 * host's own object. */
#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/copy.h"
#include "workspace/workspace.h"

/* Opens an overlay; or makes a copy if that fails and the plan accepts one, or if the tree cannot
 * be mounted for the tool at all. */
static int open_layers(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    bool opened = tc_overlay_open(cage, item, mounts) == 0;
    int tree = opened ? tc_tree_show(cage, item, item->fd) : -1;
    if (tree >= 0 || (!opened && cage->plan->instead != TC_INSTEAD_COPY) || cage->plan->session ||
        cage->answered)
        return tree;
    tc_failure_clear(&cage->outcome->failure);
    cage->outcome->status = 0;
    item->layers = item->copy = -1;
    item->near = item->on_disk = false;
    return tc_workspace_copy(cage, item);
}

/* Returns the tree for the item's path. */
static int open_item(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    if (tc_overlay_wanted(cage->plan, item))
        return open_layers(cage, item, mounts);
    if (tc_tree_copied(cage->plan, item))
        return tc_workspace_copy(cage, item);
    if (item->single_dir && item->layers < 0)
        return item->copy;
    return tc_tree_show(cage, item, item->fd);
}

static int add_tree(struct tc_cage *cage, struct tc_item *item, const char *mounts)
{
    struct tc_trees *t = cage->trees;
    int tree = open_item(cage, item, mounts);
    if (tree < 0)
        return -1;
    struct tc_init_mount *m = tc_tree_mount(t, tree, item->path, tc_tree_rights(cage->plan, item));
    if (!m)
        return tc_cage_fail_memory(cage, "trees");
    m->dev = item->point.dev;
    m->ino = item->point.ino;
    m->layered = item->layers >= 0;
    m->layers = item->layers;
    if (!item->directory || (item->copy >= 0 && !(item->single_dir && m->layered)))
        return 0;
    if (tc_tree_cover_kernel(cage, item, mounts) < 0)
        return tc_tree_refuse(cage, item->mount, errno, "unmount them",
                              "kernel file systems below ", " cannot be covered");
    /* in a VM no host program could load the files */
    return item->writable && !cage->plan->uid ? tc_tree_steering(cage, item) : 0;
}

/* Mounts matter only below directories of the host. */
static bool any_directory(const struct tc_trees *t)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].directory && !(t->items[i].single_dir && t->items[i].layers < 0))
            return true;
    return false;
}

static bool stands(const struct tc_trees *t, const struct tc_item *item)
{
    return t->standing && !item->directory && tc_path_within(t->standing, item->path);
}

int tc_workspace_trees(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    const char *mounts = any_directory(t) ? tc_trees_mounts(t) : NULL;
    if (any_directory(t) && !mounts)
        return tc_tree_refuse(cage, t->items[0].mount, errno, "mount /proc",
                              "mounts below granted path ", " cannot be listed");
    for (size_t i = 0; i < t->item_count; i++)
        if (!t->items[i].name && !stands(t, &t->items[i]) &&
            add_tree(cage, &t->items[i], mounts) < 0)
            return -1;
    return 0;
}

int tc_workspace_trees_standing(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    for (size_t i = 0; i < t->item_count; i++)
        if (stands(t, &t->items[i]) && add_tree(cage, &t->items[i], "") < 0)
            return -1;
    t->standing = NULL;
    return 0;
}
