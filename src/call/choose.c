/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Chooses the backend of a call. Also answers, for `explain`, which backend a call would get.
 *
 * All is decided before a plan is sent, so that nothing is retried once a tool may have started.
 * The choice only orders the backends: each refuses by itself grants that it cannot enforce. */
#include <string.h>
#include <unistd.h>

#include "base/jsontext.h"
#include "call/call.h"
#include "call/host/programs.h"
#include "call/route.h"
#include "plan/backend.h"
#include "policy/backends.h"

static const char *at(const struct tc_grant *grant, size_t index)
{
    return index ? grant->fallback.items[index - 1] : grant->backend;
}

/* The clauses that the grant needs on this host. A per-process memory limit is enough where the
 * policy allows it. For a policy that drops clauses (`without`) the cage itself decides: the
 * probe covers all clauses. */
static tc_clauses needed(const struct tc_grant *grant)
{
    tc_clauses any = grant->limits.memory_any ? TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_MEMORY) : 0;
    return grant->without ? 0 : grant->clauses & ~any;
}

static bool is_among(tc_clauses set, int64_t clause)
{
    return clause >= 0 && clause < TC_CLAUSE_COUNT && set & TC_CLAUSE_BIT(clause);
}

/* Why the backend's probe failed for one of these clauses (`named`: with the clause's name), or
 * *ret stays NULL; owned. */
static int trial_lacks(struct toolcage_engine *engine, const char *name, tc_clauses set, bool named,
                       char **ret, struct toolcage_error **err)
{
    const struct tc_outcome *probes = NULL;
    int r = tc_engine_probes(engine, &probes, err);
    for (size_t i = 0; r == 0 && !*ret && i < probes->probe_count; i++) {
        const struct tc_probe *p = &probes->probes[i];
        const char *reason = p->reason && p->reason[0] ? p->reason : "it does not work here";
        if (!tc_streq(p->backend, name) || p->works || !(p->whole || is_among(set, p->clause)))
            continue;
        *ret = named ? tc_format("%s: %s", tc_clause_name((enum tc_clause)p->clause), reason)
                     : strdup(reason);
        r = *ret ? 0 : tc_fail_memory(err);
    }
    return r;
}

static char *clauses_lacking(tc_clauses missing)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    for (int i = 0; i < TC_CLAUSE_COUNT; i++)
        if (missing & TC_CLAUSE_BIT(i))
            tc_buf_addf(&list, "%s%s", list.len ? ", " : "it cannot enforce ",
                        tc_clause_name((enum tc_clause)i));
    return tc_buf_steal(&list);
}

/* Why lowering refuses the grant; the plan is discarded. 0, with *ret NULL when it can be
 * lowered. */
static int lower_lacks(const struct tc_planner *planner, const struct tc_grant *grant, char **ret,
                       struct toolcage_error **err)
{
    struct tc_plan plan = {0};
    struct toolcage_error *why = NULL;
    int r = tc_planner_lower(planner, grant, &plan, &why);
    tc_plan_done(&plan);
    if (r == 0)
        return 0;
    *ret = r == TOOLCAGE_EMEMORY ? NULL : strdup(tc_error_message(why));
    tc_error_free(why);
    return *ret ? 0 : tc_fail_memory(err);
}

/* Why the backend's tables or its lowering refuse the grant, as above. */
static int planner_lacks(const struct tc_planner *planner, const struct tc_grant *grant, char **ret,
                         struct toolcage_error **err)
{
    tc_clauses clauses = tc_planner_missing(planner, grant);
    tc_features features = tc_planner_lacks(planner, grant, 0);
    if (!clauses && !features)
        return lower_lacks(planner, grant, ret, err);
    *ret = clauses ? clauses_lacking(clauses)
                   : tc_format("it %s", tc_feature_rows[__builtin_ctz(features)].text);
    return *ret ? 0 : tc_fail_memory(err);
}

/* Why a requirement of the backend is missing on this host, or *ret stays NULL; owned. */
static int host_lacks(struct toolcage_engine *engine, const struct tc_locator *locator,
                      const struct tc_grant *grant, char **ret, struct toolcage_error **err)
{
    struct tc_search search = tc_errand_search(engine);
    _autoerror_ struct toolcage_error *why = NULL;
    int r = locator->look(locator, &search, grant, &why);
    *ret = r < 0 ? strdup(tc_error_message(why)) : NULL;
    return r < 0 && !*ret ? tc_fail_memory(err) : 0;
}

/* 0 with *ret_reason NULL: the backend can run the grant. The reason is owned. */
static int judge_backend(struct toolcage_engine *engine, const struct tc_grant *grant,
                         const char *name, char **ret_reason, struct toolcage_error **err)
{
    const struct tc_planner *planner = tc_planner_find(name);
    *ret_reason = NULL;
    if (!planner) {
        *ret_reason = strdup("this version has no such backend");
        return *ret_reason ? 0 : tc_fail_memory(err);
    }
    int r = planner_lacks(planner, grant, ret_reason, err);
    if (r < 0 || *ret_reason)
        return r;
    const struct tc_locator *locator = tc_locator_find(name);
    if (locator) {
        r = host_lacks(engine, locator, grant, ret_reason, err);
        if (r < 0 || *ret_reason || !locator->tried)
            return r;
    }
    return trial_lacks(engine, name, needed(grant), true, ret_reason, err);
}

static int fail_all(const struct toolcage_policy *policy, const struct tc_grant *grant,
                    const char *reasons, struct toolcage_error **err)
{
    const char *prefix;
    uint32_t line = tc_policy_line(policy, grant->tool, "fallback", &prefix);
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                    .stage = "route",
                                    .subject = "fallback",
                                    .hint = "`toolcage doctor` shows what this host lacks, and "
                                            "how to fix it",
                                    .file = line ? tc_policy_file(policy, line) : NULL,
                                    .line = tc_policy_number(line),
                                    .column = line ? 1 : 0},
                   "no backend of the policy can run tool %s: %s",
                   grant->tool ? grant->tool : "(a bare command)", reasons);
}

int tc_choose(struct toolcage_engine *engine, const struct toolcage_policy *policy,
              struct tc_grant *grant, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf reasons = TC_BUF_INIT;
    int r = 0;
    for (size_t i = 0; r == 0 && i <= grant->fallback.count; i++) {
        const char *name = at(grant, i);
        _autofree_ char *reason = NULL;
        r = judge_backend(engine, grant, name, &reason, err);
        if (r == 0 && !reason)
            return i ? tc_grant_set(&grant->backend, name, err) : 0;
        tc_buf_addf(&reasons, "%s%s (%s)", i ? "; " : "", name, reason ? reason : "");
    }
    if (r == 0 && reasons.failed)
        r = tc_fail_memory(err);
    return r < 0 ? r : fail_all(policy, grant, reasons.data, err);
}

/* The verdicts of tc_choose(), for display: [{"backend":"…","usable":true,"reason":null},…] into
 * out. */
static int explain_routes(struct toolcage_engine *engine, struct tc_grant *grant,
                          struct tc_buf *out, struct toolcage_error **err)
{
    const char *chosen = NULL;
    int r = 0;
    tc_buf_addc(out, '[');
    for (size_t i = 0; r == 0 && i <= grant->fallback.count; i++) {
        _autofree_ char *reason = NULL;
        r = judge_backend(engine, grant, at(grant, i), &reason, err);
        tc_buf_adds(out, i ? ",{" : "{");
        tc_json_member(out, "backend", at(grant, i));
        tc_json_key(out, "usable");
        tc_buf_adds(out, reason ? "false" : "true");
        tc_json_bool(out, "chosen", !reason && !chosen);
        tc_json_member(out, "reason", reason ? reason : "");
        tc_buf_addc(out, '}');
        chosen = chosen || reason ? chosen : at(grant, i);
    }
    tc_buf_addc(out, ']');
    return r == 0 && out->failed ? tc_fail_memory(err) : r;
}

/* ---- one clause ---- */

/* 0 with *ret NULL: the backend enforces the clause. */
static int backend_holds(struct toolcage_engine *engine, const struct tc_grant *grant,
                         const char *name, enum tc_clause clause, char **ret,
                         struct toolcage_error **err)
{
    const struct tc_planner *planner = tc_planner_find(name);
    *ret = NULL;
    if (!planner) {
        *ret = strdup("this version has no such backend");
        return *ret ? 0 : tc_fail_memory(err);
    }
    if (planner->flags & TC_BACKEND_NO_BOUNDARY || grant->without & TC_CLAUSE_BIT(clause))
        return 0;
    if (tc_planner_missing(planner, grant) & TC_CLAUSE_BIT(clause)) {
        *ret = clauses_lacking(TC_CLAUSE_BIT(clause));
        return *ret ? 0 : tc_fail_memory(err);
    }
    const struct tc_locator *locator = tc_locator_find(name);
    return locator && !locator->tried
               ? host_lacks(engine, locator, grant, ret, err)
               : trial_lacks(engine, name, TC_CLAUSE_BIT(clause), false, ret, err);
}

/* Which backend enforces the clause of one access: the first one in the policy's order that can
 * on this host. {"held":true,"backend":"…","reason":""} into out. */
static int explain_held(struct toolcage_engine *engine, const struct tc_grant *grant,
                        enum tc_clause clause, struct tc_buf *out, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf reasons = TC_BUF_INIT;
    const char *by = NULL;
    int r = 0;
    bool layered = grant->layers.count && !tc_backend_of_layers(&grant->layers);
    if (layered)
        tc_buf_adds(&reasons, "no backend of this version supports this combination of layers");
    for (size_t i = 0; r == 0 && !by && !layered && i <= grant->fallback.count; i++) {
        _autofree_ char *reason = NULL;
        r = backend_holds(engine, grant, at(grant, i), clause, &reason, err);
        by = r == 0 && !reason ? at(grant, i) : NULL;
        if (reason)
            tc_buf_addf(&reasons, "%s%s: %s", reasons.len ? "; " : "", at(grant, i), reason);
    }
    if (r < 0)
        return r;
    tc_buf_adds(out, by ? "{\"held\":true" : "{\"held\":false");
    tc_json_member(out, "backend", by ? by : "");
    tc_json_member(out, "reason", by || !reasons.data ? "" : reasons.data);
    tc_buf_addc(out, '}');
    return out->failed || reasons.failed ? tc_fail_memory(err) : 0;
}

/* ---- explain: the grant without a call ---- */

/* The part of `explain` that depends on the host: which backend would be chosen, or whether a
 * backend here enforces an access that the policy allows. */
static int explain_here(struct toolcage_call *call, struct tc_grant *grant,
                        const struct tc_verdict *v, struct tc_buf *out, struct toolcage_error **err)
{
    if (!v->access) {
        if (!grant->fallback.count)
            return 0;
        tc_buf_adds(out, "\"routes\":");
        return explain_routes(call->engine, grant, out, err);
    }
    if (!v->allowed)
        return 0;
    tc_buf_adds(out, "\"here\":");
    return explain_held(call->engine, grant, v->clause, out, err);
}

static int resolve_supposed(void *call, const char *target, struct tc_grant *ret,
                            struct toolcage_error **err)
{
    return tc_call_resolve(call, true, target, ret, err);
}

int tc_call_explain(struct toolcage_call *call, const char *access, char **ret_json,
                    struct toolcage_error **err)
{
    int r = tc_engine_check(call->engine, err);
    if (r < 0)
        return r;
    tc_supposer *suppose = call->arguments || !call->tool ? NULL : resolve_supposed;
    _auto_(tc_grant_done) struct tc_grant grant = {0};
    _auto_(tc_verdict_done) struct tc_verdict v = {0};
    _autobuf_ struct tc_buf here = TC_BUF_INIT;
    r = tc_call_resolve(call, true, NULL, &grant, err);
    if (r == 0 && access)
        r = tc_policy_suppose(call->policy, &grant, access, suppose, call, &v, &grant, err);
    _autofd_ int image = -1;
    if (r == 0)
        r = explain_here(call, &grant, &v, &here, err);
    if (r == 0) /* after the choice, as in a call: the default image of one backend must not exclude
                   others */
        r = tc_image_extend(call->policy, true, &grant, &image, err);
    if (r == 0)
        r = tc_grant_digest(&grant, err);
    if (r == 0)
        r = tc_policy_explain(call->policy, &grant, access ? &v : NULL, here.data, ret_json, err);
    return r;
}
