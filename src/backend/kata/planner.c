/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The planner of Kata Containers: the plans of a VM, started by an engine's runtime. */
#include <inttypes.h>
#include <string.h>
#include <toolcage/error.h>

#include "backend/registry.h"
#include "backend/vm/lower.h"

enum { PROCESSES = 64 }; /* processes of the guest, in addition to the tool's */

/* The limits that the engine applies to the container. */
static bool add_settings(const struct tc_grant *grant, struct tc_plan *plan)
{
    const struct tc_limits *l = &grant->limits;
    struct tc_strv *s = &plan->settings;
    return tc_strv_take(s, tc_format("mib=%" PRId64, tc_vm_mib(grant))) &&
           tc_strv_take(s, tc_format("cpus=%" PRId64, l->cpus_milli)) &&
           tc_strv_take(s, tc_format("pids=%" PRId64, l->pids ? l->pids + PROCESSES : 0)) &&
           (!grant->image || tc_strv_take(s, tc_format("image=%s", grant->image)));
}

static int lower_kata(const struct tc_planner *planner, const struct tc_grant *grant,
                      struct tc_plan *ret, struct toolcage_error **err)
{
    static const struct tc_monitor kata = {.name = "kata", .contained = true};
    int r = tc_vm_lower(&kata, grant, ret, err);
    (void)planner;
    return r == 0 && !add_settings(grant, ret) ? tc_fail_memory(err) : r;
}

const struct tc_planner tc_kata_planner = {
    .name = "kata",
    .summary = "a process cage in an engine's Kata container, which has a separate kernel",
    .provides = ~(TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET) | TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) |
                  TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT)),
    .has = TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SYSCALLS) | TC_FEATURE_BIT(BYTES) |
           TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY) | TC_FEATURE_BIT(HOST),
    .lower = lower_kata,
};
