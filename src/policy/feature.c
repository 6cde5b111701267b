/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/feature.h"

#include <string.h>

#include "policy/backends.h"
#include "policy/endpoint.h"
#include "policy/image_ref.h"

const struct tc_feature_row tc_feature_rows[TC_FEATURE_COUNT] = {
#define ROW(id, key, stage, subject, text, hint) {key, stage, subject, text, hint},
    TC_FEATURE_MAP(ROW)
#undef ROW
};

static bool odd(const char *text)
{
    return !tc_utf8_valid(text, strlen(text));
}

/* Denied paths are skipped: they are not passed to the cage. */
static bool has_odd(const struct tc_grant *grant)
{
    const struct tc_strv *lists[] = {&grant->argv, &grant->env};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            if (odd(lists[i]->items[j]))
                return true;
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && odd(grant->fs[i].path))
            return true;
    return false;
}

static bool wants_each_port(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->net_count; i++)
        if (grant->net[i].port == TC_PORT_ANY)
            return true;
    return false;
}

/* Features that the inner layers need. */
static tc_features layered_features(const struct tc_grant *grant)
{
    bool module = tc_backend_runs_module(&grant->layers);
    const char *within = tc_backend_within(&grant->layers);
    bool leads_out = !module && (tc_streq(within, TC_BACKEND_DEFAULT) || tc_streq(within, "oci"));
    return (module && (grant->image || grant->warm.count) ? TC_FEATURE_BIT(MODULE_SYSTEM) : 0) |
           (grant->net_count && !leads_out ? TC_FEATURE_BIT(INNER_NET) : 0) |
           (!grant->image && !module ? TC_FEATURE_BIT(HOST) : 0);
}

tc_features tc_grant_features(const struct tc_grant *grant)
{
    bool paths = grant->denials == TC_DENIALS_PATHS || grant->denials == TC_DENIALS_ACCESSES;
    bool in_place = grant->workspace == TC_WORKSPACE_BIND && tc_grant_writes(grant);
    return layered_features(grant) | (in_place ? TC_FEATURE_BIT(BIND) : 0) |
           (wants_each_port(grant) ? TC_FEATURE_BIT(PORTS) : 0) |
           (grant->image && !tc_streq(grant->image, TC_IMAGE_SYSTEM) ? TC_FEATURE_BIT(IMAGE) : 0) |
           (grant->unix_sockets ? TC_FEATURE_BIT(SOCKETS) : 0) |
           (paths ? TC_FEATURE_BIT(PATHS) : 0) |
           (grant->syscalls_allow.count ? TC_FEATURE_BIT(SYSCALLS) : 0) |
           (grant->workspace == TC_WORKSPACE_COPY ? TC_FEATURE_BIT(COPY) : 0) |
           (grant->workspace == TC_WORKSPACE_OVERLAY ? TC_FEATURE_BIT(OVERLAY) : 0) |
           (grant->deterministic ? TC_FEATURE_BIT(DETERMINISTIC) : 0) |
           (has_odd(grant) ? TC_FEATURE_BIT(BYTES) : 0);
}
