/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Functions that the call layer uses after the resolution: complete a grant to which it added
 * entries, find out whether every grant masks a path, and find the line of a setting. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/names/credentials.h"
#include "policy/policy.h"
#include "policy/resolve/resolve.h"

int tc_grant_complete(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      struct tc_grant *grant, struct toolcage_error **err)
{
    static const struct tc_request none = {0};
    struct tc_resolve r = {
        .policy = policy, .request = &none, .facts = facts, .grant = grant, .err = err};
    int rc = tc_resolve_masks(&r);
    grant->clauses = tc_grant_clauses(grant);
    tc_grant_sort(grant);
    return rc;
}

int tc_grant_set(char **member, const char *text, struct toolcage_error **err)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return tc_fail_memory(err);
    free(*member);
    *member = copy;
    return 0;
}

static bool holds_programs(const struct tc_facts *facts, const char *path)
{
    const char *home = facts->home, *rest = NULL;
    if (home && tc_path_within(home, path) && path[strlen(home)] == '/')
        rest = path + strlen(home) + 1;
    for (size_t i = 0; rest && tc_home_programs[i]; i++)
        if (tc_path_below(tc_home_programs[i], rest) || tc_streq(tc_home_programs[i], rest))
            return true;
    return false;
}

int tc_policy_masks(const struct toolcage_policy *policy, const struct tc_facts *facts,
                    const char *path, bool *ret, struct toolcage_error **err)
{
    static const struct tc_request none = {0};
    struct tc_grant all = {0};
    struct tc_resolve r = {
        .policy = policy, .request = &none, .facts = facts, .grant = &all, .err = err};
    /* the masks that a grant of the caller's whole home would have */
    const struct tc_fs_entry home = {.path = (char *)facts->home,
                                     .from = (char *)facts->home,
                                     .access = TC_ACCESS_READ,
                                     .origin = {.key = (char *)"home"}};
    int rc = facts->home && !tc_grant_add(&all, &home) ? tc_fail_memory(err) : 0;
    if (!rc)
        rc = tc_resolve_masks(&r);
    const struct tc_fs_entry *said = rc ? NULL : tc_grant_find(&all, path);
    if (!rc)
        *ret =
            said && said->access == TC_ACCESS_DENY && !(said->found && holds_programs(facts, path));
    tc_grant_done(&all);
    return rc;
}

uint32_t tc_policy_line(const struct toolcage_policy *policy, const char *tool, const char *key,
                        const char **ret_prefix)
{
    const struct tc_key *known = tc_key_find(tc_keys, TC_SCOPE_TOOL, key);
    const struct tc_spec *spec = tool ? tc_policy_tool(policy, tool) : NULL;
    const struct tc_spec *said = known ? tc_policy_given(policy, spec, known->id) : NULL;
    *ret_prefix = said ? said->prefix : "";
    return said ? said->said[known->id] : 0;
}
