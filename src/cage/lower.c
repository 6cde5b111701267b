/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Turns a grant into a plan, for backends whose cages are processes of this host. Makes no system
 * call. */
#include "cage/lower.h"

#include <string.h>
#include <toolcage/error.h>

#include "base/path.h"
#include "base/strv.h"
#include "egress/gateway/gateway.h"
#include "policy/endpoint.h"

static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return *to || !from;
}

static bool add_entry(struct tc_plan *plan, const struct tc_fs_entry *e)
{
    if (e->access == TC_ACCESS_DENY) {
        struct tc_deny *d = TC_PUSH(plan->denies, plan->deny_count);
        if (!d)
            return false;
        d->line = e->origin.line;
        d->own = e->own;
        return copy_text(&d->path, e->path) && copy_text(&d->key, e->origin.key);
    }
    struct tc_mount *m = tc_plan_mount(
        plan, e->access == TC_ACCESS_WRITE ? TC_MOUNT_WRITE : TC_MOUNT_READ, e->path, e->from);
    if (!m)
        return false;
    m->optional = e->optional;
    m->workspace = e->access == TC_ACCESS_WRITE;
    m->line = e->origin.line;
    return copy_text(&m->key, e->origin.key) && copy_text(&m->bound, e->argument ? e->bound : NULL);
}

static bool add_entries(struct tc_plan *plan, const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (!add_entry(plan, &grant->fs[i]))
            return false;
    return true;
}

bool tc_local_network(const struct tc_grant *grant, struct tc_plan *plan)
{
    for (size_t i = 0; i < grant->net_count; i++) {
        struct tc_net_entry *entry = TC_PUSH(plan->net, plan->net_count);
        if (!entry || !tc_net_entry_copy(entry, &grant->net[i]))
            return false;
    }
    for (size_t i = 0; i < grant->secret_count; i++) {
        struct tc_secret *secret = TC_PUSH(plan->secrets, plan->secret_count);
        if (!secret || !tc_secret_copy(secret, &grant->secrets[i]))
            return false;
    }
    return tc_upstream_copy(&plan->upstream, &grant->upstream);
}

/* Adds the network rules, and the environment variables that make programs use the proxy. */
static bool add_network(struct tc_plan *plan, const struct tc_grant *grant)
{
    if (!tc_local_network(grant, plan))
        return false;
    plan->asks_network = !plan->net_count && grant->denials == TC_DENIALS_ACCESSES;
    if (!plan->net_count && !plan->asks_network)
        return true;
    return tc_gateway_environment(plan->net, plan->net_count, &plan->env) &&
           tc_gateway_trust(plan->net, plan->net_count, &plan->env);
}

static bool add_sockets(struct tc_plan *plan, const struct tc_grant *grant)
{
    plan->unix_sockets = grant->unix_sockets;
    for (size_t i = 0; i < grant->socket_count; i++) {
        const struct tc_fs_entry *e = &grant->sockets[i];
        struct tc_mount *m = tc_plan_mount(plan, TC_MOUNT_SOCKET, e->path, e->from);
        if (!m || !copy_text(&m->key, e->origin.key))
            return false;
        m->optional = e->optional;
        m->line = e->origin.line;
    }
    return true;
}

static bool add_directories(struct tc_plan *plan, const struct tc_grant *grant)
{
    const char *starts[3];
    size_t count = tc_grant_starts(grant, starts);
    for (size_t i = 0; i < count; i++)
        if (!tc_strv_add(&plan->cwd, starts[i]))
            return false;
    return true;
}

static bool add_lists(struct tc_plan *plan, const struct tc_grant *grant)
{
    return tc_strv_copy(&plan->argv, &grant->argv) && tc_strv_copy(&plan->env, &grant->env) &&
           tc_strv_copy(&plan->syscalls_allow, &grant->syscalls_allow) &&
           tc_strv_copy(&plan->syscalls_deny, &grant->syscalls_deny);
}

/* Does the grant name exactly this policy file as writable? Then the tool may write it.
 * add_policy() asks this only for the policy's own file, not for the files that it extends. */
static bool frees(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access == TC_ACCESS_WRITE && !grant->fs[i].argument &&
            tc_streq(grant->fs[i].from, path))
            return true;
    return false;
}

/* Names the policy's files in the plan, so that the cage protects them. */
static bool add_policy(struct tc_plan *plan, const struct tc_grant *grant)
{
    const char *path;
    for (size_t i = 0; (path = tc_grant_policy_path(grant, i)); i++)
        if (i == 0 && (!path[0] || frees(grant, path)))
            continue;
        else if (i ? !tc_strv_add(&plan->extended, path) : !copy_text(&plan->policy_file, path))
            return false;
    return true;
}

/* A bind commits always, and cannot limit `disk`. */
static void choose_workspace(struct tc_plan *plan, const struct tc_grant *grant)
{
    bool open = grant->workspace == TC_WORKSPACE_AUTO;
    bool bind = grant->commit == TC_COMMIT_ALWAYS && !grant->limits.disk_set;
    plan->workspace = open ? TC_WORKSPACE_OVERLAY : grant->workspace;
    plan->instead = !open ? TC_INSTEAD_NOTHING : bind ? TC_INSTEAD_BIND : TC_INSTEAD_COPY;
    plan->commit = grant->commit;
}

bool tc_local_files(const struct tc_grant *grant, struct tc_plan *plan)
{
    choose_workspace(plan, grant);
    return add_entries(plan, grant) && tc_grant_tool_writable(grant, &plan->tool_writable) &&
           tc_strv_copy(&plan->collect, &grant->collect) &&
           tc_strv_copy(&plan->caches, &grant->caches) &&
           tc_steering_copy(&plan->steering, &grant->steering) && add_policy(plan, grant);
}

static bool fill_plan(struct tc_plan *plan, const struct tc_grant *grant, const char *backend)
{
    plan->clauses = grant->clauses;
    plan->without = grant->without & grant->clauses;
    plan->limits = grant->limits;
    plan->umask = grant->umask;
    plan->denials = grant->denials;
    return copy_text(&plan->tool, grant->tool) && copy_text(&plan->backend, backend) &&
           copy_text(&plan->grant, grant->digest) && copy_text(&plan->image, grant->image) &&
           tc_plan_system(plan, !grant->image, grant->system) && tc_local_files(grant, plan) &&
           add_sockets(plan, grant) && add_directories(plan, grant) && add_lists(plan, grant) &&
           add_network(plan, grant);
}

static bool below_grant(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && tc_path_within(grant->fs[i].path, path))
            return true;
    return false;
}

/* Refuses a denied name that may exist in the image: nothing hides names of the image's root.
 * Names below a granted path are not refused, because they are hidden there. */
int tc_image_denies(const struct tc_grant *grant, struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_EUNENFORCEABLE, .stage = "lower", .subject = "image"};
    if (!grant->image)
        return 0;
    why.hint = "remove the file from the image";
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access == TC_ACCESS_DENY && !e->built_in && !below_grant(grant, e->path))
            return tc_fail(err, &why, "the denied name %s may exist in the image", e->path);
    }
    return 0;
}

int tc_local_lower(const struct tc_grant *grant, const char *backend, struct tc_plan *ret,
                   struct toolcage_error **err)
{
    const char *path = tc_grant_writes(grant);
    if (path && grant->workspace == TC_WORKSPACE_BIND && grant->limits.disk_set)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUNENFORCEABLE, "lower", "disk",
                              "use workspace = { mode = \"overlay\" }, or remove `disk`"),
                       "`disk` cannot limit %s, which is a writable bind mount of a host path",
                       path);
    return fill_plan(ret, grant, backend) ? 0 : tc_fail_memory(err);
}
