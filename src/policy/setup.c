/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Install phases by name. They are not tools: no list of tools contains them. */

#include "policy/model.h"
#include "policy/parse/extends.h"

bool tc_policy_names_setup(const struct toolcage_policy *policy, const char *name)
{
    return tc_spec_is_setup(tc_policy_tool(policy, name));
}

/* The directory of the file that contains the line; a profile has none. */
static const char *directory_of(const struct toolcage_policy *policy, uint32_t line)
{
    return TC_LINE_FILE(line) ? policy->files[TC_LINE_FILE(line)].dir : policy->dir;
}

static bool show_install(const struct toolcage_policy *policy, const struct tc_spec *spec,
                         struct tc_install *ret)
{
    const struct tc_spec *setup = spec ? spec->setup : NULL;
    if (!setup || !setup->into)
        return false;
    *ret = (struct tc_install){.tool = tc_spec_is_server(spec) ? spec->prefix : spec->name,
                               .name = setup->name,
                               .into = setup->into,
                               .prefix = setup->prefix,
                               .clause = setup->setup_digest,
                               .directory = directory_of(policy, spec->said[TC_KEY_SETUP]),
                               .inputs = &setup->inputs,
                               .line = spec->said[TC_KEY_SETUP]};
    return true;
}

bool tc_policy_next_setup(const struct toolcage_policy *policy, size_t *place,
                          struct tc_install *ret)
{
    while (*place < policy->tool_count + policy->server_count) {
        size_t i = (*place)++;
        if (show_install(policy,
                         i < policy->tool_count ? &policy->tools[i]
                                                : &policy->servers[i - policy->tool_count].spec,
                         ret))
            return true;
    }
    return false;
}

bool tc_policy_setup(const struct toolcage_policy *policy, const char *name, struct tc_install *ret)
{
    size_t place = 0;
    const struct tc_spec *spec = tc_policy_tool(policy, name);
    if (!tc_spec_is_setup(spec))
        return show_install(policy, spec, ret);
    while (tc_policy_next_setup(policy, &place, ret))
        if (tc_streq(ret->name, name))
            return true;
    return false;
}

int tc_setup_suppose(const struct toolcage_policy *policy, struct tc_grant *grant,
                     struct toolcage_error **err)
{
    struct tc_install install;
    if (!grant->tool || !tc_policy_setup(policy, grant->tool, &install))
        return 0;
    bool itself = tc_streq(grant->tool, install.name);
    _autofree_ char *key = tc_format("%s.into", install.prefix);
    const struct tc_fs_entry entry = {.path = (char *)install.into,
                                      .from = (char *)install.into,
                                      .access = itself ? TC_ACCESS_WRITE : TC_ACCESS_READ,
                                      .setup = true,
                                      .origin = {.key = key, .line = install.line}};
    return key ? tc_grant_put(grant, &entry, err) : tc_fail_memory(err);
}
