/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * policy x tool x call -> grant. The order matters: the operator's settings, then the model's
 * arguments within them, then narrowing, then toolcage's own masks over the result. */
#include "policy/resolve/resolve.h"
#include "policy/backends.h"
#include "policy/endpoint.h"
#include "policy/names/caches.h"

#include <stdio.h>
#include <string.h>

#include "policy/pathrule.h"
#include "policy/plain.h"
#include "policy/settings.h"

static int find_tool(struct tc_resolve *r)
{
    const char *name = r->request->tool;
    if (!name)
        return 0;
    r->tool = tc_policy_tool(r->policy, name);
    r->asked = tc_policy_asked(r->policy, name);
    if (r->asked != r->tool && !r->request->explain)
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, name, 0,
                                 "run the server (toolcage wrap) and call it there",
                                 "%s is a tool of a server and has no separate cage", name);
    if (r->tool)
        return 0;
    _autofree_ char *hint = tc_policy_name_hint(r->policy, name);
    if (!hint)
        return tc_resolve_memory(r);
    return tc_resolve_refuse(
        r, TOOLCAGE_ENOT_FOUND, name, 0,
        r->policy->is_default ? "there is no policy file; name one with --policy" : hint,
        "there is no tool \"%.80s\" in %s", name, r->policy->name);
}

/* The host directory for /workspace: from the flag or the facts, else the working directory. */
static int find_workspace(struct tc_resolve *r)
{
    struct tc_complaint c;
    const char *flag = tc_request_last(r->request, "workspace");
    const char *cwd = r->facts->cwd ? r->facts->cwd : "/";
    const char *said = flag ? flag : r->facts->workspace;
    int rc = tc_path_expand(said ? said : cwd, cwd, r->facts->home, &r->workspace, &c);
    r->workspace_given = said != NULL;
    if (rc == TOOLCAGE_EMEMORY || !rc)
        return rc ? tc_resolve_memory(r) : 0;
    if (!said) {
        /* a working directory with an invalid name is an error only when a grant needs it */
        r->workspace = strdup(cwd);
        return r->workspace ? 0 : tc_resolve_memory(r);
    }
    return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, "workspace", 0, c.hint, "workspace: %s", c.what);
}

static void take_limits(struct tc_resolve *r)
{
    struct tc_limits *limits = &r->grant->limits;
    *limits = tc_limits_default;
    if (tc_spec_is_server(r->tool))
        limits->timeout_ms = 0;
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        const struct tc_spec *said = tc_policy_given(r->policy, r->tool, row->key);
        if (said)
            (void)tc_field_set(row, limits, tc_field_number(row, &said->limits));
    }
}

static const char *class_backend(const struct tc_class *classes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (tc_streq(classes[i].name, name) && classes[i].backend)
            return classes[i].backend;
    return NULL;
}

/* The first backend whose key (such as image or module) the tool sets. */
static const char *backend_of_keys(const struct toolcage_policy *policy, const struct tc_spec *tool)
{
    for (const struct tc_backend *b = tc_backends; b->name; b++)
        if (b->key != TC_KEY_NONE && tc_policy_given(policy, tool, b->key))
            return b->name;
    return TC_BACKEND_DEFAULT;
}

/* A tool's own backend overrides the layers of [defaults]. */
const struct tc_spec *tc_policy_layers(const struct toolcage_policy *policy,
                                       const struct tc_spec *tool)
{
    const struct tc_spec *layers = tc_policy_given(policy, tool, TC_KEY_LAYERS);
    const struct tc_spec *backend = tc_policy_given(policy, tool, TC_KEY_BACKEND);
    bool nearer = backend && layers != backend && backend == tool;
    return nearer ? NULL : layers;
}

const char *tc_policy_backend(const struct toolcage_policy *policy, const struct tc_spec *tool)
{
    const struct tc_spec *backend = tc_policy_given(policy, tool, TC_KEY_BACKEND);
    const struct tc_spec *tier = tc_policy_given(policy, tool, TC_KEY_TIER);
    const struct tc_spec *risk = tc_policy_given(policy, tool, TC_KEY_RISK);
    const struct tc_spec *layers = tc_policy_layers(policy, tool);
    const char *own = NULL;
    if (layers)
        own = tc_backend_of_layers(&layers->layers);
    if (layers)
        return own ? own : layers->layers.items[0];
    if (backend)
        return backend->backend;
    if (tier)
        own = class_backend(policy->tiers, policy->tier_count, tier->tier);
    else if (risk)
        own = class_backend(policy->risks, policy->risk_count, risk->risk);
    return own    ? own
           : tier ? tc_backend_of_tier(tier->tier)
           : risk ? tc_backend_of_risk(risk->risk)
                  : backend_of_keys(policy, tool);
}

const struct tc_spec *tc_policy_chooser(const struct toolcage_policy *policy,
                                        const struct tc_spec *tool, bool layers,
                                        const struct tc_backend_key **ret)
{
    static const struct tc_backend_key rows[] = {
        {TC_KEY_LAYERS, "layers", 0},
        {TC_KEY_BACKEND, "backend", 0},
        {TC_KEY_TIER, "tier", offsetof(struct tc_spec, tier)},
        {TC_KEY_RISK, "risk", offsetof(struct tc_spec, risk)},
        {TC_KEY_IMAGE, "image", offsetof(struct tc_spec, image)},
        {TC_KEY_MODULE, "module", offsetof(struct tc_spec, module)}};
    const struct tc_spec *said = NULL;
    for (size_t i = layers ? 0 : 1; !said && i < TC_COUNT(rows); i++) {
        *ret = &rows[i];
        said = rows[i].id == TC_KEY_LAYERS ? tc_policy_layers(policy, tool)
                                           : tc_policy_given(policy, tool, rows[i].id);
    }
    return said;
}

static const struct tc_spec *said_tier(const struct tc_resolve *r)
{
    if (r->asked && r->asked->said[TC_KEY_TIER])
        return r->asked;
    return tc_policy_given(r->policy, r->tool, TC_KEY_TIER);
}

/* The fallback list may contain the tool's own backend, which is left out. */
static bool take_fallback(struct tc_resolve *r)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_FALLBACK);
    for (size_t i = 0; said && i < said->fallback.count; i++)
        if (!tc_streq(said->fallback.items[i], r->grant->backend) &&
            !tc_strv_add(&r->grant->fallback, said->fallback.items[i]))
            return false;
    return true;
}

static bool may_run(const struct tc_grant *grant, const char *setting)
{
    bool may = tc_setting_of(setting, grant->backend);
    for (size_t i = 0; !may && i < grant->fallback.count; i++)
        may = tc_setting_of(setting, grant->fallback.items[i]);
    return may;
}

/* An untrusted tool never reuses a worker process, whatever the file's backend settings say. */
static bool is_ruled_out(const struct tc_resolve *r, const char *setting)
{
    const struct tc_spec *risk = tc_policy_given(r->policy, r->tool, TC_KEY_RISK);
    return risk && strcmp(risk->risk, "untrusted") == 0 && tc_startswith(setting, "wasm.reuse=");
}

static bool take_backend_settings(struct tc_resolve *r)
{
    const struct tc_strv *said = &r->policy->settings;
    for (size_t i = 0; i < said->count; i++)
        if (may_run(r->grant, said->items[i]) && !is_ruled_out(r, said->items[i]) &&
            !tc_strv_add(&r->grant->settings, said->items[i]))
            return false;
    return true;
}

/* `said` is "PATH" or "PATH@sha256:…". */
static bool take_module(struct tc_grant *grant, const char *said)
{
    const char *pin = tc_module_pin(said);
    grant->module = strndup(said, pin ? (size_t)(pin - said) : strlen(said));
    grant->module_digest = pin ? strdup(pin + 1) : NULL;
    return grant->module && (!pin || grant->module_digest);
}

static bool take_backend(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    const struct tc_spec *module = tc_policy_given(r->policy, r->tool, TC_KEY_MODULE);
    const struct tc_spec *layers = tc_policy_layers(r->policy, r->tool);
    grant->backend = strdup(tc_policy_backend(r->policy, r->tool));
    bool fine = grant->backend;
    if (layers)
        fine = fine && tc_strv_copy(&grant->layers, &layers->layers);
    else
        fine = fine && take_fallback(r);
    if (module)
        fine = fine && take_module(grant, module->module);
    return fine && take_backend_settings(r);
}

static int take_words(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    const struct tc_spec *tier = said_tier(r);
    const struct tc_spec *mode = tc_policy_given(r->policy, r->tool, TC_KEY_WORKSPACE);
    const struct tc_spec *without = tc_policy_given(r->policy, r->tool, TC_KEY_WITHOUT);
    bool fine = take_backend(r);
    for (size_t i = 0; i < TC_PLAIN_COUNT; i++)
        fine = fine && tc_plain_take(&tc_plain_rows[i], grant,
                                     tc_policy_given(r->policy, r->tool, tc_plain_rows[i].id));
    if (r->tool)
        fine = fine && (grant->tool = strdup(r->request->tool));
    if (tier)
        fine = fine && (grant->tier = strdup(tier->tier));
    if (r->facts->cwd)
        fine = fine && (grant->caller_cwd = strdup(r->facts->cwd));
    grant->workspace = mode ? (enum tc_workspace_mode)mode->workspace : TC_WORKSPACE_AUTO;
    grant->commit = mode ? (enum tc_commit)mode->commit : TC_COMMIT_ALWAYS;
    grant->without = without ? without->without : 0;
    grant->approval = tier && tc_tier_asks(tier->tier);
    return fine ? 0 : tc_resolve_memory(r);
}

static int take_steering(struct tc_resolve *r)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_FILESYSTEM);
    bool fine = !said || tc_steering_copy(&r->grant->steering, &said->steering);
    r->grant->steering.listed = tc_spec_is_setup(r->tool);
    return fine ? 0 : tc_resolve_memory(r);
}

/* What a person or a client sees while it runs works on the host's own files. So does a tool that
 * can write none. */
static int take_mode(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    bool watched = r->request->terminal || r->request->watched || tc_spec_is_server(r->tool);
    if (grant->workspace == TC_WORKSPACE_AUTO && grant->commit == TC_COMMIT_ALWAYS &&
        (watched || !tc_grant_writes(grant)))
        grant->workspace = TC_WORKSPACE_BIND;
    return 0;
}

/* Changes that cannot be staged are not reviewed. */
static int take_caches(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_REVIEW);
    bool fine = true;
    if (grant->workspace == TC_WORKSPACE_BIND || tc_spec_is_setup(r->tool))
        return 0;
    if (said)
        fine = tc_strv_copy(&grant->caches, &said->caches);
    for (size_t i = 0; fine && !said && tc_caches_shipped[i]; i++)
        fine = tc_strv_add(&grant->caches, tc_caches_shipped[i]);
    return fine ? 0 : tc_resolve_memory(r);
}

static int take_syscalls(struct tc_resolve *r)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_SYSCALLS);
    bool fine = !said || (tc_strv_copy(&r->grant->syscalls_allow, &said->syscalls_allow) &&
                          tc_strv_copy(&r->grant->syscalls_deny, &said->syscalls_deny));
    return fine ? 0 : tc_resolve_memory(r);
}

static int take_network(struct tc_resolve *r)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_NETWORK);
    for (size_t i = 0; said && i < said->net_count; i++) {
        struct tc_net_entry *entry = TC_PUSH(r->grant->net, r->grant->net_count);
        if (!entry || !tc_net_entry_copy(entry, &said->net[i]))
            return tc_resolve_memory(r);
        bool url = said->url && entry->origin.line == said->url_line;
        entry->origin.key = tc_spec_key(said, url ? "url" : "network");
        if (!entry->origin.key)
            return tc_resolve_memory(r);
    }
    return 0;
}

/* Runs after narrowing: a call without network needs no upstream proxy. */
static int take_upstream(struct tc_resolve *r)
{
    struct tc_upstream *to = &r->grant->upstream;
    if (!r->grant->net_count || !r->policy->upstream.host)
        return 0;
    return tc_upstream_copy(to, &r->policy->upstream) ? 0 : tc_resolve_memory(r);
}

static int take_settings(struct tc_resolve *r)
{
    take_limits(r);
    int rc = take_words(r);
    /* the files of an install are written back together, if it succeeded, without set-id bits */
    if (!rc && tc_spec_is_setup(r->tool)) {
        r->grant->workspace = TC_WORKSPACE_COPY;
        r->grant->commit = TC_COMMIT_SUCCESS;
    }
    return rc;
}

/* With a policy, masks are applied before narrowing too: a flag that names a masked path exactly
 * must not unmask it. Without a policy, the flags are the operator's grant. */
static int mask_first(struct tc_resolve *r)
{
    return r->operators ? 0 : tc_resolve_masks(r);
}

static int finish_resolve(struct tc_resolve *r)
{
    r->grant->clauses = tc_grant_clauses(r->grant);
    tc_grant_sort(r->grant);
    return r->request->open ? 0 : tc_grant_digest(r->grant, r->err);
}

int tc_policy_resolve(const struct toolcage_policy *policy, const struct tc_request *request,
                      const struct tc_facts *facts, struct tc_grant *ret,
                      struct toolcage_error **err)
{
    static int (*const steps[])(struct tc_resolve *) = {
        find_tool,
        find_workspace,
        take_settings,
        take_syscalls,
        take_steering,
        take_network,
        tc_resolve_fs,
        tc_resolve_unix,
        tc_resolve_arguments,
        tc_resolve_command,
        tc_resolve_env,
        mask_first,
        tc_resolve_narrow,
        tc_resolve_masks,
        tc_resolve_tool_writable,
        tc_resolve_unix_check,
        tc_resolve_secrets,
        take_upstream,
        take_mode,
        take_caches,
        finish_resolve,
        tc_resolve_within,
    };
    struct tc_grant grant = {0};
    struct tc_resolve r = {.policy = policy,
                           .request = request,
                           .facts = facts,
                           .operators = tc_policy_is_callers(policy),
                           .grant = &grant,
                           .err = err};
    int rc = 0;
    for (size_t i = 0; !rc && i < TC_COUNT(steps); i++)
        rc = steps[i](&r);
    json_decref(r.arguments);
    free(r.workspace);
    if (rc)
        tc_grant_done(&grant);
    else
        *ret = grant;
    return rc;
}
