/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The planners of the container engines. Inside the engine's container, the tool has the same
 * isolation layers as in a process cage. */

#include "cage/lower.h"

static int lower_engine(const struct tc_planner *planner, const struct tc_grant *grant,
                        struct tc_plan *ret, struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    return r < 0 ? r : tc_local_lower(grant, planner->name, ret, err);
}

/* Not PATHS: a rootless engine's container is in a user namespace in which the helper may not read
 * the tool's memory. */
#define HAS                                                                     \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SYSCALLS) | TC_FEATURE_BIT(PORTS) | \
     TC_FEATURE_BIT(BYTES) | TC_LOCAL_FEATURES | TC_FEATURE_BIT(INSTALL))

#define PLANNER(engine)                                                          \
    {                                                                            \
        .name = (engine), .summary = "a process cage in a container of " engine, \
        .provides = ~(tc_clauses)0, .has = HAS, .lower = lower_engine,           \
    }

const struct tc_planner tc_podman_planner = PLANNER("podman");
const struct tc_planner tc_docker_planner = PLANNER("docker");
const struct tc_planner tc_containerd_planner = PLANNER("containerd");
