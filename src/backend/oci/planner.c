/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The planners of the backends oci and gvisor. */
#include <toolcage/error.h>

#include "backend/oci/config.h"
#include "cage/lower.h"

static int lower_oci(const struct tc_planner *planner, const struct tc_grant *grant,
                     struct tc_plan *ret, struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    if (r == 0)
        r = tc_local_lower(grant, planner->name, ret, err);
    if (r < 0)
        return r;
    ret->payload = tc_oci_config(ret, tc_oci_kind_of(planner->name));
    return ret->payload ? 0 : tc_fail_memory(err);
}

/* Both lack BYTES (names that are not UTF-8): the runtime's configuration is JSON, which cannot
 * hold them. gVisor lacks PATHS and SYSCALLS, because its own kernel handles the tool's system
 * calls. */
#define HAS \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(PORTS) | TC_LOCAL_FEATURES | TC_FEATURE_BIT(INSTALL))

const struct tc_planner tc_oci_planner = {
    .name = "oci",
    .summary = "a container of crun or runc, with our own PID 1 in it",
    .provides = ~(tc_clauses)0,
    .has = HAS | TC_FEATURE_BIT(PATHS) | TC_FEATURE_BIT(SYSCALLS),
    .lower = lower_oci,
};

const struct tc_planner tc_gvisor_planner = {
    .name = "gvisor",
    .summary = "a runsc container, whose user-space kernel serves the system calls",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_oci,
};
