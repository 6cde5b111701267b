/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A backend without a cage, for tests which prove that an attack works if nothing stops it. It is
 * never chosen automatically, its name warns, and every result repeats the name. */
#include <string.h>

#include "plan/backend.h"

static bool add_directories(struct tc_plan *plan, const struct tc_grant *grant)
{
    if (grant->cwd)
        return tc_strv_add(&plan->cwd, grant->cwd);
    return (!grant->caller_cwd || tc_strv_add(&plan->cwd, grant->caller_cwd)) &&
           tc_strv_add(&plan->cwd, "/");
}

/* Mounts and denied paths are left out: this executor would ignore them. */
static int lower_unconfined(const struct tc_planner *planner, const struct tc_grant *grant,
                            struct tc_plan *ret, struct toolcage_error **err)
{
    ret->clauses = 0;
    ret->limits = grant->limits;
    ret->umask = grant->umask;
    ret->denials = TC_DENIALS_OFF;
    ret->workspace = TC_WORKSPACE_BIND;
    ret->backend = strdup(planner->name);
    bool whole = ret->backend && tc_strv_copy(&ret->argv, &grant->argv) &&
                 tc_strv_copy(&ret->env, &grant->env) && add_directories(ret, grant);
    return whole ? 0 : tc_fail_memory(err);
}

const struct tc_planner tc_unconfined_planner = {
    .name = "not-a-security-boundary",
    .summary = "runs the tool without any cage; for tests only",
    .flags = TC_BACKEND_NO_BOUNDARY,
    .provides = 0,
    .has = TC_FEATURES_IGNORED,
    .lower = lower_unconfined,
};
