/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/bridge.h"

#include <stdlib.h>
#include <string.h>

#include "call/host/search_path.h"
#include "policy/backends.h"
#include "spawn/own.h"

static int refuse(struct toolcage_error **err, const char *subject, const char *hint,
                  const char *what)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EDENIED, "bridge", subject, hint),
                   "the server at a URL cannot be reached: %s", what);
}

/* The program and its libraries are the host's. */
static bool shows_host_programs(const struct tc_grant *grant)
{
    const struct tc_backend *backend = tc_backend_find(grant->backend);
    return !grant->image && !grant->module && !grant->layers.count && !grant->fallback.count &&
           backend &&
           (backend->kind == TC_BACKEND_PROCESS || backend->kind == TC_BACKEND_SENTRY ||
            backend->kind == TC_BACKEND_NOTHING);
}

static int show_program(const struct toolcage_policy *policy, const struct tc_facts *facts,
                        struct tc_grant *grant, const char *path, struct toolcage_error **err)
{
    bool masked = false;
    if (tc_program_is_shown(path))
        return 0;
    if (!tc_facts_look(facts))
        return tc_fail_memory(err);
    int r = tc_policy_masks(policy, facts, path, &masked, err);
    if (r == 0 && masked)
        r = refuse(err, path, "install toolcage elsewhere",
                   TC_BRIDGE " is in a directory that no cage shows");
    const struct tc_fs_entry entry = {.path = (char *)(uintptr_t)path,
                                      .from = (char *)(uintptr_t)path,
                                      .access = TC_ACCESS_READ,
                                      .origin.key = (char *)(uintptr_t) "url"};
    if (r == 0)
        r = tc_grant_put(grant, &entry, err);
    return r ? r : tc_grant_complete(policy, facts, grant, err);
}

static bool write_command(struct tc_grant *grant, const char *path, const char *url)
{
    tc_strv_done(&grant->argv);
    bool fine = tc_strv_add(&grant->argv, path) && tc_strv_add(&grant->argv, url) &&
                tc_strv_add(&grant->argv, grant->tool);
    for (size_t i = 0; fine && i < grant->secret_count; i++)
        if (strcmp(grant->secrets[i].name, TC_UPSTREAM_SECRET) != 0)
            fine = tc_strv_add(&grant->argv, grant->secrets[i].name);
    return fine;
}

int tc_bridge_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                     struct tc_grant *grant, struct toolcage_error **err)
{
    const char *url = tc_policy_url(policy, grant->tool);
    _autofree_ char *path = NULL;
    if (!url)
        return 0;
    if (!shows_host_programs(grant))
        return refuse(err, grant->tool, "write backend = \"process\" in its table",
                      "its cage needs the host's programs, which this backend does not show");
    int r = tc_spawn_own_program(TC_BRIDGE, &path, err);
    if (r == 0 && !write_command(grant, path, url))
        r = tc_fail_memory(err);
    return r ? r : show_program(policy, facts, grant, path, err);
}
