/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Clones a cage's processes into its namespaces and cgroup, with its ids. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"

/* Namespaces that clone3 must create. The child creates the others itself, without blocking the
 * helper: a network namespace takes half a millisecond. */
enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP };

/* The ids that the tool sees if the caller is root of a host or container; else the caller's
 * own. */
enum { INSIDE = 1000 };

unsigned tc_process_inside(const struct tc_process_host *h, unsigned id)
{
    return h->tree->privileged || id == 0 ? INSIDE : id;
}

void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init)
{
    init->wait_for_maps = host->tree->privileged;
    init->uid = tc_process_inside(host, host->tree->uid);
    init->gid = tc_process_inside(host, host->tree->gid);
    tc_id_map(init->uid_map, init->uid, host->tree->privileged ? id : host->tree->uid);
    tc_id_map(init->gid_map, init->gid, host->tree->privileged ? id : host->tree->gid);
}

pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_init_config *init, int *ret_pidfd)
{
    /* the pidfd comes with the clone: opened later it could fail, and the exit could not be
     * awaited */
    struct clone_args args = {.flags = NAMESPACES | CLONE_CLEAR_SIGHAND | CLONE_PIDFD,
                              .pidfd = (uintptr_t)ret_pidfd,
                              .exit_signal = SIGCHLD};
    bool enters = group && tc_cgroup_fd(group) < 0;
    if (enters)
        args.flags &= ~(uint64_t)CLONE_NEWCGROUP;
    if (group && !enters) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)tc_cgroup_fd(group);
    }
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        tc_init_enter(init, enters ? group : NULL);
    return pid;
}

int tc_process_announce(const struct tc_process_host *host, int report)
{
    const unsigned ids[2] = {tc_process_inside(host, host->tree->uid),
                             tc_process_inside(host, host->tree->gid)};
    return tc_send(report, ids, sizeof(ids), NULL, 0);
}

int tc_process_map_ids(pid_t pid, const struct tc_init_config *init, int report)
{
    char proc[16];
    if (!init->wait_for_maps)
        return 0;
    (void)snprintf(proc, sizeof(proc), "%d", (int)pid);
    if (tc_write_id_maps(proc, init->uid_map, init->gid_map, 0) < 0)
        return -1;
    return tc_send(report, "", 1, NULL, 0);
}
