/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program that waits is handed of a call. */
#include "cage/hand.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/handed.h"

bool tc_hand_can(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->trees.mount_count; i++)
        if (p->trees.mounts[i].hide || p->trees.mounts[i].layered)
            return false;
    return true;
}

static bool of_the_call(const struct tc_box_mount *m)
{
    return m->fd >= 0 && !tc_path_within(&TC_PLACE_OWN[1], m->path);
}

size_t tc_hand_put_together(const struct tc_process_cage *p, int root)
{
    size_t i = 0;
    while (i < p->trees.mount_count && (!of_the_call(&p->trees.mounts[i]) ||
                                        tc_box_mount_attach(root, &p->trees.mounts[i]) == 0))
        i++;
    return i;
}

bool tc_hand_take_back(struct tc_cage *cage, size_t count)
{
    const unsigned whole = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < count; i++) {
        const struct tc_box_mount *m = &p->trees.mounts[i];
        _autofd_ int copy = of_the_call(m) ? tc_open_tree(m->fd, "", whole) : -1;
        if (of_the_call(m) && (copy < 0 || dup3(copy, m->fd, O_CLOEXEC) < 0))
            return false;
    }
    if (tc_process_trees_standing(cage) < 0)
        return false;
    p->box.mounts = p->trees.mounts;
    p->box.mount_count = p->trees.mount_count;
    return true;
}

/* The second wall: the same paths once more. -1: none; the kernel has it not, or errno. */
static int wall(const struct tc_process_cage *p, int root)
{
    int abi = p->host->landlock_abi;
    _autofd_ int ruleset = tc_landlock_open(abi);
    if (ruleset < 0 || tc_landlock_allow(ruleset, abi, root, TC_LANDLOCK_LIST) < 0)
        return -1;
    for (size_t i = 0; i < p->trees.mount_count; i++) {
        const struct tc_box_mount *m = &p->trees.mounts[i];
        if (of_the_call(m) && !m->no_rule && tc_landlock_allow(ruleset, abi, m->fd, m->rights) < 0)
            return -1;
    }
    return TAKE_FD(ruleset);
}

static const char *find_cwd(const struct tc_plan *plan, int root)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    for (size_t i = 0; i < plan->cwd.count; i++) {
        _autofd_ int fd = tc_openat2(root, plan->cwd.items[i], &how);
        if (fd >= 0)
            return plan->cwd.items[i];
    }
    return NULL;
}

/* Its directory, and its words, each with the NUL at its end. */
static bool write_words(const struct tc_plan *plan, const char *cwd, struct tc_buf *ret)
{
    ret->max = TC_HANDED_WORDS;
    tc_buf_add(ret, cwd, strlen(cwd) + 1);
    for (size_t i = (size_t)plan->ahead; i < plan->argv.count; i++)
        tc_buf_add(ret, plan->argv.items[i], strlen(plan->argv.items[i]) + 1);
    return !ret->failed;
}

bool tc_hand_call(const struct tc_cage *cage, int talk, int root)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    bool walled = p->host->landlock_abi && !cage->plan->calls;
    _autofd_ int ruleset = walled ? wall(p, root) : -1;
    const char *cwd = find_cwd(cage->plan, root);
    size_t count = TC_HANDED_ROOT + 1;
    int fds[TC_HANDED_MOST] = {[TC_HANDED_IN] = p->box.in,
                               [TC_HANDED_OUT] = p->box.out,
                               [TC_HANDED_ERR] = p->box.err,
                               [TC_HANDED_ROOT] = root};
    if (p->box.talks)
        fds[count++] = p->box.talk;
    if (walled)
        fds[count++] = ruleset;
    if (!cwd || (walled && ruleset < 0) || !write_words(cage->plan, cwd, &words))
        return false;
    return tc_send(talk, words.data, words.len, fds, count) == 0;
}
