/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only place that refuses a grant or a call because a backend lacks something that it needs.
 * A missing clause is always a refusal: a weaker cage is never chosen instead. */
#include "call/route.h"

#include "policy/backends.h"

static const char *tool_words(const struct tc_grant *grant)
{
    return grant->tool ? grant->tool : "(a bare command)";
}

/* Sets the policy location of the first of these keys that the policy sets. */
static void place(const struct toolcage_policy *policy, const struct tc_grant *grant,
                  const char *const keys[], size_t count, struct tc_why *why)
{
    const char *prefix;
    for (size_t i = 0; i < count && !why->line; i++)
        why->line = tc_policy_line(policy, grant->tool, keys[i], &prefix);
    if (why->line) {
        why->file = tc_policy_file(policy, why->line);
        why->line = tc_policy_number(why->line);
        why->column = 1;
    }
}

static int fail_absent(const struct toolcage_policy *policy, const struct tc_grant *grant,
                       struct toolcage_error **err)
{
    static const char *const keys[] = {"backend", "tier", "risk", "image", "module"};
    _autofree_ char *names = tc_planner_names();
    _autofree_ char *hint = names ? tc_format("choose one of: %s", names) : NULL;
    if (!hint)
        return tc_fail_memory(err);
    struct tc_why why = {
        .code = TOOLCAGE_EBACKEND, .stage = "route", .subject = grant->backend, .hint = hint};
    place(policy, grant, keys, TC_COUNT(keys), &why);
    return tc_fail(err, &why,
                   "this version has no backend %s, which the policy chooses for tool %s",
                   grant->backend, tool_words(grant));
}

/* The policy location that required a clause, if the grant has it. */
static const struct tc_origin *origin_of(const struct tc_grant *grant, tc_clauses missing)
{
    tc_clauses net = TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) | TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT) |
                     TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET);
    if (missing & net && grant->net_count)
        return &grant->net[0].origin;
    if (missing & TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED))
        for (size_t i = 0; i < grant->fs_count; i++)
            if (grant->fs[i].access == TC_ACCESS_DENY && !grant->fs[i].built_in)
                return &grant->fs[i].origin;
    return NULL;
}

static bool runs_modules(const char *backend)
{
    const struct tc_backend *row = tc_backend_find(backend);
    return row && row->kind == TC_BACKEND_MODULE;
}

/* Which backends of this version enforce the whole grant, as a hint; owned. Backends for modules
 * run only modules, and other backends run none. */
static char *others_for(const struct tc_grant *grant)
{
    _autobuf_ struct tc_buf names = TC_BUF_INIT;
    const struct tc_planner *planner;
    for (size_t i = 0; (planner = tc_planner_at(i)); i++)
        if (!(planner->flags & TC_BACKEND_NO_BOUNDARY) && planner->provides &&
            runs_modules(planner->name) == runs_modules(grant->backend) &&
            !tc_planner_missing(planner, grant) && !tc_planner_lacks(planner, grant, 0))
            tc_buf_addf(&names, "%sbackend = \"%s\"", names.len ? ", or " : "", planner->name);
    tc_buf_adds(&names, names.len ? ", or remove the grant that needs it from the policy"
                                  : "no backend of this version can: remove the grant that needs "
                                    "it from the policy");
    return tc_buf_steal(&names);
}

static int fail_missing(const struct toolcage_policy *policy, const struct tc_grant *grant,
                        const struct tc_planner *planner, tc_clauses missing,
                        struct toolcage_error **err)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    const char *first = NULL;
    for (int i = 0; i < TC_CLAUSE_COUNT; i++) {
        if (!(missing & TC_CLAUSE_BIT(i)))
            continue;
        tc_buf_addf(&list, "%s%s (%s)", first ? ", " : "", tc_clause_name(i), tc_clause_text(i));
        first = first ? first : tc_clause_name(i);
    }
    if (list.failed || !first)
        return tc_fail_memory(err);
    const struct tc_origin *origin = origin_of(grant, missing);
    _autofree_ char *hint = others_for(grant);
    if (!hint)
        return tc_fail_memory(err);
    struct tc_why why = {
        .code = TOOLCAGE_EUNENFORCEABLE, .stage = "route", .subject = first, .hint = hint};
    if (origin && origin->line) {
        why.file = tc_policy_file(policy, origin->line);
        why.line = tc_policy_number(origin->line);
        why.column = 1;
    }
    return tc_fail(err, &why, "backend %s cannot enforce %s for tool %s", planner->name, list.data,
                   tool_words(grant));
}

static int fail_feature(const struct toolcage_policy *policy, const struct tc_grant *grant,
                        const struct tc_planner *planner, tc_features missing,
                        struct toolcage_error **err)
{
    const struct tc_feature_row *row = &tc_feature_rows[__builtin_ctz(missing)];
    const char *keys[] = {row->key};
    struct tc_why why = {.code = TOOLCAGE_EUNENFORCEABLE,
                         .stage = row->stage,
                         .subject = row->subject,
                         .hint = row->hint};
    place(policy, grant, keys, row->key ? 1 : 0, &why);
    return tc_fail(err, &why, "the backend %s %s, as tool %s needs", planner->name, row->text,
                   tool_words(grant));
}

/* The operator must choose a backend without isolation in the policy: under a policy file a call
 * may not. */
static int check_no_boundary(const struct toolcage_policy *policy, const struct tc_planner *planner,
                             bool by_call, struct toolcage_error **err)
{
    if (!by_call || tc_policy_is_default(policy))
        return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EDENIED, "route", planner->name,
                          "only the policy itself can name it (backend = \"…\")"),
                   "a call cannot choose the backend %s, which enforces nothing", planner->name);
}

static int fail_approval(const struct toolcage_policy *policy, const struct tc_grant *grant,
                         struct toolcage_error **err)
{
    static const char *const keys[] = {"tier"};
    struct tc_why why = {.code = TOOLCAGE_EDENIED,
                         .stage = "approve",
                         .subject = grant->tool,
                         .hint =
                             grant->tool && tc_startswith(grant->tool, "server.")
                                 ? "give it a tier without approval: servers cannot be approved yet"
                                 : "run it at a terminal, where toolcage asks; or give the tool "
                                   "a tier without approval"};
    place(policy, grant, keys, TC_COUNT(keys), &why);
    if (tc_streq(grant->tier, "ManualOnly"))
        return tc_fail(err, &why, "tool %s is started by a person only (tier ManualOnly)",
                       tool_words(grant));
    return tc_fail(err, &why,
                   "tool %s needs a person's approval (tier %s), and nobody has given it",
                   tool_words(grant), grant->tier ? grant->tier : "HumanApprove");
}

static int fail_layers(const struct toolcage_policy *policy, const struct tc_grant *grant,
                       struct toolcage_error **err)
{
    static const char *const keys[] = {"layers"};
    struct tc_why why = {.code = TOOLCAGE_EUNENFORCEABLE,
                         .stage = "route",
                         .subject = "layers",
                         .hint = "layers = [\"qemu\", \"process\"], [\"qemu\", \"oci\"], "
                                 "[\"qemu\", \"wasm\"], [\"qemu\", \"oci\", \"wasm\"] or "
                                 "[\"process\", \"wasm\"], or one backend instead of layers"};
    place(policy, grant, keys, TC_COUNT(keys), &why);
    return tc_fail(err, &why, "no backend of this version supports the layers of tool %s",
                   tool_words(grant));
}

int tc_route_admit(const struct toolcage_policy *policy, const struct tc_grant *grant,
                   bool answered, struct toolcage_error **err)
{
    if (grant->approval && !answered)
        return fail_approval(policy, grant, err);
    if (grant->layers.count && !tc_backend_of_layers(&grant->layers))
        return fail_layers(policy, grant, err);
    return 0;
}

int tc_route(const struct toolcage_policy *policy, const struct tc_grant *grant, bool by_call,
             tc_features wanted, const struct tc_planner **ret, struct toolcage_error **err)
{
    int r = 0;
    const struct tc_planner *planner = tc_planner_find(grant->backend);
    if (!planner)
        return fail_absent(policy, grant, err);
    if (planner->flags & TC_BACKEND_NO_BOUNDARY)
        r = check_no_boundary(policy, planner, by_call, err);
    tc_clauses clauses = tc_planner_missing(planner, grant);
    tc_features features = tc_planner_lacks(planner, grant, wanted);
    if (r == 0 && clauses)
        r = fail_missing(policy, grant, planner, clauses, err);
    else if (r == 0 && features)
        r = fail_feature(policy, grant, planner, features, err);
    if (r == 0)
        *ret = planner;
    return r;
}
