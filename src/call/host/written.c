/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * May a tool have written a file that a program outside of the library is about to obey? */
#include "call/host/facts.h"

#include "base/path.h"
#include "policy/model.h"
#include "policy/pathrule.h"
#include "provenance/provenance.h"

static int ask_files(const struct toolcage_policy *policy, struct toolcage_error **err)
{
    _autoprovenance_ struct tc_provenance writers;
    bool written = false;
    if (!tc_provenance_here(&writers, NULL, NULL))
        return tc_fail_memory(err);
    for (size_t i = 0; i < policy->file_count && !written; i++)
        written = policy->files[i].path && tc_provenance_tool(&writers, policy->files[i].path);
    return written &&
           !tc_provenance_knows(policy->files[0].path ? policy->files[0].path : "", policy->digest);
}

/* Where tools of the policy can write in the workspace. */
static bool list_workspace(const struct toolcage_policy *policy, const char *workspace,
                           struct tc_strv *ret)
{
    const struct tc_strv *inside = &policy->workspace_writable;
    for (size_t i = 0; i < inside->count; i++)
        if (!tc_strv_take(ret, tc_path_move(TC_WORKSPACE, workspace, inside->items[i])))
            return false;
    return true;
}

static int ask_path(const struct toolcage_policy *policy, const char *path, const char *workspace,
                    struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    _autoprovenance_ struct tc_provenance writers = {0};
    _autostrv_ struct tc_strv places = {0};
    int r = tc_surroundings_begin(&here, err);
    if (r < 0)
        return r;
    _autofree_ char *file = tc_path_absolute(here.cwd, path);
    _autofree_ char *root = tc_path_absolute(here.cwd, workspace ? workspace : ".");
    if (!file || !root || (policy && !list_workspace(policy, root, &places)) ||
        !tc_provenance_here(&writers, &places, tc_policy_writable(policy)))
        return tc_fail_memory(err);
    return tc_provenance_tool(&writers, file);
}

int tc_policy_written(const struct toolcage_policy *policy, const char *path, const char *workspace,
                      struct toolcage_error **err)
{
    return path ? ask_path(policy, path, workspace, err) : ask_files(policy, err);
}
