/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The part of lowering that all planners share, and the list of planners. */
#include <string.h>

#include "backend/registry.h"
#include "policy/settings.h"

tc_clauses tc_planner_missing(const struct tc_planner *planner, const struct tc_grant *grant)
{
    return planner->flags & TC_BACKEND_NO_BOUNDARY ? 0 : grant->clauses & ~planner->provides;
}

tc_features tc_planner_lacks(const struct tc_planner *planner, const struct tc_grant *grant,
                             tc_features wanted)
{
    return (tc_grant_features(grant) | wanted) & ~planner->has;
}

static bool take_settings(struct tc_plan *plan, const char *backend, const struct tc_strv *said)
{
    for (size_t i = 0; i < said->count; i++) {
        const char *own = tc_setting_of(said->items[i], backend);
        if (own && !tc_strv_add(&plan->settings, own))
            return false;
    }
    return true;
}

int tc_planner_lower(const struct tc_planner *planner, const struct tc_grant *grant,
                     struct tc_plan *ret, struct toolcage_error **err)
{
    int r = planner->lower(planner, grant, ret, err);
    return r == 0 && !take_settings(ret, planner->name, &grant->settings) ? tc_fail_memory(err) : r;
}

/* ---- by index and by name ---- */

#define PLANNER(id) &tc_##id##_planner,
#define NONE(id)
static const struct tc_planner *const planners[] = {TC_REGISTRY(PLANNER, PLANNER, NONE)};

const struct tc_planner *tc_planner_at(size_t index)
{
    return index < TC_COUNT(planners) ? planners[index] : NULL;
}

const struct tc_planner *tc_planner_find(const char *name)
{
    for (size_t i = 0; name && i < TC_COUNT(planners); i++)
        if (strcmp(planners[i]->name, name) == 0)
            return planners[i];
    return NULL;
}

char *tc_planner_names(void)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(planners); i++)
        tc_buf_addf(&buf, "%s%s", i ? ", " : "", planners[i]->name);
    return tc_buf_steal(&buf);
}
