/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every front does in the same way: a grant is lowered here, and the backend adds what is its
 * own. */
#include <string.h>

#include "backend/registry.h"
#include "policy/settings.h"

tc_clauses tc_front_missing(const struct tc_front *front, const struct tc_grant *grant)
{
    return front->flags & TC_BACKEND_NO_BOUNDARY ? 0 : grant->clauses & ~front->provides;
}

tc_features tc_front_lacks(const struct tc_front *front, const struct tc_grant *grant,
                           tc_features wanted)
{
    return (tc_grant_features(grant) | wanted) & ~front->has;
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

int tc_front_lower(const struct tc_front *front, const struct tc_grant *grant, struct tc_plan *ret,
                   struct toolcage_error **err)
{
    int r = front->lower(front, grant, ret, err);
    return r == 0 && !take_settings(ret, front->name, &grant->settings) ? tc_fail_memory(err) : r;
}

/* ---- by index and by name ---- */

#define FRONT(id) &tc_##id##_front,
#define NONE(id)
static const struct tc_front *const fronts[] = {TC_REGISTRY(FRONT, FRONT, NONE)};

const struct tc_front *tc_front_at(size_t index)
{
    return index < TC_COUNT(fronts) ? fronts[index] : NULL;
}

const struct tc_front *tc_front_find(const char *name)
{
    for (size_t i = 0; name && i < TC_COUNT(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

char *tc_front_names(void)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(fronts); i++)
        tc_buf_addf(&buf, "%s%s", i ? ", " : "", fronts[i]->name);
    return tc_buf_steal(&buf);
}
