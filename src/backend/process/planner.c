/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The planner of the process backend, which supports every feature except images. */
#include <toolcage/error.h>

#include "cage/lower.h"

static int lower_process(const struct tc_planner *planner, const struct tc_grant *grant,
                         struct tc_plan *ret, struct toolcage_error **err)
{
    return tc_local_lower(grant, planner->name, ret, err);
}

const struct tc_planner tc_process_planner = {
    .name = "process",
    .summary = "namespaces, mounts, Landlock and seccomp around a process of this machine",
    .provides = ~(tc_clauses)0,
    .has = TC_FEATURE_BIT(SOCKETS) | TC_FEATURE_BIT(PATHS) | TC_FEATURE_BIT(SYSCALLS) |
           TC_FEATURE_BIT(BYTES) | TC_FEATURE_BIT(PORTS) | TC_FEATURE_BIT(TERMINAL) |
           TC_FEATURE_BIT(INSTALL) | TC_FEATURE_BIT(LIVE) | TC_LOCAL_FEATURES,
    .lower = lower_process,
};
