/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Processes of a cage are born: into its namespaces and its control group, with its ids. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/spawner.h"

/* Those that a process must be born in. The rest the child makes itself, in its own time: a network
 * namespace takes half a millisecond. */
enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP };

/* What the tool sees as its ids: the caller's, or these where the caller is some root. */
enum { INSIDE = 1000 };

unsigned tc_process_inside(const struct tc_process_host *h, unsigned id)
{
    return h->tree->privileged || id == 0 ? INSIDE : id;
}

void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_box *box)
{
    box->wait_for_maps = host->tree->privileged;
    box->uid = tc_process_inside(host, host->tree->uid);
    box->gid = tc_process_inside(host, host->tree->gid);
    tc_id_map(box->uid_map, box->uid, host->tree->privileged ? id : host->tree->uid);
    tc_id_map(box->gid_map, box->gid, host->tree->privileged ? id : host->tree->gid);
}

static struct tc_spawner *resident(struct tc_cgroup *group)
{
    struct tc_spawner *s = tc_cgroup_resident(group);
    if (s && tc_spawner_lives(s))
        return s;
    if (s) /* the group's already, so it stays the group's when this fails */
        return tc_spawner_revive(s) == 0 &&
                       tc_cgroup_settle(group, tc_spawner_pid(s), tc_spawner_free, s) == 0
                   ? s
                   : NULL;
    s = tc_spawner_new();
    if (s && tc_cgroup_settle(group, tc_spawner_pid(s), tc_spawner_free, s) < 0) {
        int saved = errno;
        tc_spawner_free(s);
        errno = saved;
        return NULL;
    }
    return s;
}

pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_box *box, int *ret_pidfd)
{
    /* the descriptor is born with the process: made later it could fail, and nobody could wait */
    struct clone_args args = {.flags = NAMESPACES | CLONE_CLEAR_SIGHAND | CLONE_PIDFD,
                              .pidfd = (uintptr_t)ret_pidfd};
    if (group && tc_cgroup_fd(group) < 0) {
        struct tc_spawner *s = resident(group);
        args.flags |=
            CLONE_PARENT; /* the helper's child, so it dies and is reaped with the helper */
        return s ? tc_spawner_clone(s, &args, box) : -1;
    }
    args.exit_signal = SIGCHLD;
    if (group) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)tc_cgroup_fd(group);
    }
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        tc_box_enter(box);
    return pid;
}

int tc_process_announce(const struct tc_process_host *host, int report)
{
    const unsigned ids[2] = {tc_process_inside(host, host->tree->uid),
                             tc_process_inside(host, host->tree->gid)};
    return tc_send(report, ids, sizeof(ids), NULL, 0);
}

int tc_process_map_ids(pid_t pid, const struct tc_box *box, int report)
{
    char proc[16];
    if (!box->wait_for_maps)
        return 0;
    (void)snprintf(proc, sizeof(proc), "%d", (int)pid);
    if (tc_write_id_maps(proc, box->uid_map, box->gid_map, 0) < 0)
        return -1;
    return tc_send(report, "", 1, NULL, 0);
}
