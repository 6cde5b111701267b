/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Determines which calls a worker can serve. */
#include <stdlib.h>

#include "base/path.h"
#include "cage/worker.h"

/* Can a worker serve such a call? Not if the plan has a part that a running process cannot receive,
 * or observes file names, which depend on the call's own cage. */
static bool can_wait(const struct tc_plan *plan)
{
    bool watched = plan->denials != TC_DENIALS_OFF && plan->denials != TC_DENIALS_CALLS;
    return plan->ahead && plan->program && plan->program_call && !plan->uid && !watched &&
           !plan->net_count && !plan->replays && !plan->asks_network && !plan->unix_sockets &&
           !plan->terminal && !plan->session && !plan->lifetime_ms && !plan->live_in &&
           !plan->image && !plan->secret_count && !plan->syscalls_allow.count &&
           !plan->syscalls_deny.count && plan->workspace == TC_WORKSPACE_BIND;
}

bool tc_worker_mount(const struct tc_mount *m)
{
    bool path = m->kind == TC_MOUNT_READ || m->kind == TC_MOUNT_WRITE || m->kind == TC_MOUNT_SOCKET;
    return !path || tc_path_within(TC_PLACE_OWN, m->path);
}

static size_t own_mounts(const struct tc_plan *of, struct tc_mount *to)
{
    size_t count = 0;
    for (size_t i = 0; i < of->mount_count; i++)
        if (tc_worker_mount(&of->mounts[i]))
            to[count++] = of->mounts[i];
    return count;
}

/* The key is the plan without the parts of one call, and without the time limits, which the helper
 * enforces. */
bool tc_worker_key(const struct tc_plan *of, struct tc_buf *ret)
{
    static char *root[] = {(char *)"/"};
    if (!can_wait(of))
        return false;
    _autofree_ struct tc_mount *mounts = calloc(of->mount_count + 1, sizeof(*mounts));
    if (!mounts)
        return false;
    struct tc_plan plan = {.tool = of->tool,
                           .backend = of->backend,
                           .clauses = of->clauses,
                           .argv = of->argv,
                           .program = of->program,
                           .program_len = of->program_len,
                           .ahead = true,
                           .cwd = {.items = root, .count = 1},
                           .umask = of->umask,
                           .mounts = mounts,
                           .mount_count = own_mounts(of, mounts),
                           .system = of->system,
                           .limits = of->limits,
                           .settings = of->settings,
                           .calls = of->calls,
                           .bounds = of->calls ? of->bounds : NULL,
                           /* no listener covers all calls of a worker: denials are not listed */
                           .denials = of->calls ? (int64_t)TC_DENIALS_OFF : of->denials};
    plan.limits.timeout_ms = plan.limits.cpu_time_ms = 0;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_plan_visit(&w, &plan);
    *ret = w.out;
    return !w.failed && !w.out.failed;
}
