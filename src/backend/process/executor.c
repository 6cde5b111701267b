/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's executor: a cage whose PID 1 is the helper's own child. */
#include "backend/registry.h"

#include "cage/cage.h"

/* Where the place forbids namespaces, whose policy has given up by name what they hold gets what
 * Landlock and seccomp can build. */
static int make_process(struct tc_cage *cage)
{
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
