/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The handoff of tasks to a toolcage program in a cage. */
#include "cage/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <toolcage/error.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"

bool tc_handoff_can(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->trees.mount_count; i++)
        if (p->trees.mounts[i].hide || p->trees.mounts[i].layered)
            return false;
    return true;
}

static bool of_the_call(const struct tc_init_mount *m)
{
    return m->fd >= 0 && !tc_path_within(&TC_PLACE_OWN[1], m->path);
}

size_t tc_handoff_assemble(const struct tc_process_cage *p, int root)
{
    size_t i = 0;
    while (i < p->trees.mount_count && (!of_the_call(&p->trees.mounts[i]) ||
                                        tc_init_mount_attach(root, &p->trees.mounts[i]) == 0))
        i++;
    return i;
}

bool tc_handoff_take_back(struct tc_cage *cage, size_t count)
{
    const unsigned whole = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < count; i++) {
        const struct tc_init_mount *m = &p->trees.mounts[i];
        _autofd_ int copy = of_the_call(m) ? tc_open_tree(m->fd, "", whole) : -1;
        if (of_the_call(m) && (copy < 0 || dup3(copy, m->fd, O_CLOEXEC) < 0))
            return false;
    }
    if (tc_workspace_trees_standing(cage) < 0)
        return false;
    p->init.mounts = p->trees.mounts;
    p->init.mount_count = p->trees.mount_count;
    return true;
}

/* The second layer of defence: a Landlock ruleset for the same paths. -1 with errno, or without
 * Landlock. */
static int wall(const struct tc_process_cage *p, int root)
{
    int abi = p->host->landlock_abi;
    _autofd_ int ruleset = tc_landlock_open(abi, 0);
    if (ruleset < 0 || tc_landlock_allow(ruleset, abi, root, TC_LANDLOCK_LIST) < 0)
        return -1;
    for (size_t i = 0; i < p->trees.mount_count; i++) {
        const struct tc_init_mount *m = &p->trees.mounts[i];
        if (of_the_call(m) && !m->no_rule && tc_landlock_allow(ruleset, abi, m->fd, m->rights) < 0)
            return -1;
    }
    return TAKE_FD(ruleset);
}

static char *find_cwd(const struct tc_plan *plan, int root)
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

bool tc_handoff_call(const struct tc_cage *cage, int talk, int root)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    bool walled = p->host->landlock_abi && !plan->calls;
    _autofd_ int ruleset = walled ? wall(p, root) : -1;
    /* earlier calls' rulesets may keep the program from opening it */
    _autofd_ int null = p->init.in < 0 ? tc_open_null() : -1;
    struct tc_task_message task = TC_TASK_NONE;
    task.call = plan->program_call;
    task.call_len = plan->program_call_len;
    task.cwd = find_cwd(plan, root);
    task.in = p->init.in >= 0 ? p->init.in : null;
    task.out = p->init.out;
    task.err = p->init.err;
    task.root = root;
    task.wall = ruleset;
    return task.cwd && (!walled || ruleset >= 0) && tc_task_send(talk, &tc_task_fields, &task) == 0;
}

int tc_handoff_program(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    struct tc_task_message task = p->task;
    int pair[2];
    if (!plan->program)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        p->talk = pair[0];
        p->init.talk = pair[1];
        p->init.talks = true;
        task.program = plan->program;
        task.program_len = plan->program_len;
        task.call = plan->program_call;
        task.call_len = plan->program_call_len;
        if (tc_task_send(p->talk, &tc_task_fields, &task) == 0)
            return 0;
    }
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "socket", errno,
                                     "raise this process's limits (ulimit -n)"),
                        -1, "the task cannot be sent to the cage's program");
}
