/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of the process backend: a cage whose PID 1 is a child of the helper. */
#include "backend/registry.h"

#include "cage/cage.h"
#include "live/live.h"

/* Where namespaces are forbidden, a policy that gives up the clauses that need them (`without`)
 * gets the landlock executor, which uses only Landlock and seccomp. */
static int make_process(struct tc_cage *cage)
{
    const struct tc_executor *live = tc_live_executor(cage->plan);
    if (live) {
        cage->executor = live;
        return live->make(cage);
    }
    if (!cage->plan->without || !tc_host_forbids_cages())
        return tc_local_lease(cage, NULL, NULL);
    cage->executor = &tc_landlock_executor;
    return cage->executor->make(cage);
}

static const struct tc_probe_ops probe = {tc_process_probe_plan, tc_process_probed};

const struct tc_executor tc_process_executor = {
    .name = "process",
    .make = make_process,
    .prepare = tc_process_prepare,
    .start = tc_process_run,
    .event = tc_process_event,
    .signal = tc_local_signal,
    .reap = tc_process_reap,
    .usage = tc_local_usage,
    .destroy = tc_local_destroy,
    .probe = &probe,
};
