/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares a call's grant with the grant of the policy's ceiling, which it must not exceed. */
#include <string.h>

#include "policy/compare/compare.h"
#include "policy/parse/extends.h"
#include "policy/resolve/resolve.h"

static const char *key_name(enum tc_key_id id)
{
    const struct tc_key *key = tc_keys;
    while (key->name && key->id != id)
        key++;
    return key->name ? key->name : "within";
}

/* The arguments that the ceiling also declares, so that its bounds apply to the same values. */
static bool same_arguments(const struct tc_resolve *r, const struct tc_spec *theirs, char **ret)
{
    json_t *known = json_object();
    bool fine = known != NULL;
    for (size_t i = 0; fine && theirs && r->arguments && i < theirs->argument_count; i++) {
        json_t *value = json_object_get(r->arguments, theirs->arguments[i].name);
        fine = !value || json_object_set(known, theirs->arguments[i].name, value) == 0;
    }
    *ret = fine && json_object_size(known) ? json_dumps(known, JSON_COMPACT) : NULL;
    fine = fine && (*ret || !json_object_size(known));
    json_decref(known);
    return fine;
}

/* Resolves the ceiling's grant for the call's workspace and arguments, without its flags. */
static int resolve(const struct tc_resolve *r, const char *tool, struct tc_grant *ret,
                   struct toolcage_error **err)
{
    const struct tc_spec *theirs = tool ? tc_policy_asked(r->policy->ceiling, tool) : NULL;
    _autofree_ char *arguments = NULL;
    struct tc_narrowing place = {.key = (char *)"workspace", .value = r->workspace};
    if (!same_arguments(r, theirs, &arguments))
        return tc_fail_memory(err);
    const struct tc_request request = {.tool = tool,
                                       .arguments = arguments,
                                       .narrow = &place,
                                       .narrow_count = r->workspace_given ? 1 : 0,
                                       .explain = true};
    return tc_policy_resolve(r->policy->ceiling, &request, r->facts, ret, err);
}

/* The location of a setting: "tool.x.network, line 3 of team.toml". Owned. */
static char *where(const struct toolcage_policy *policy, const struct tc_spec *tool,
                   enum tc_key_id id, const char *key, uint32_t *ret_line)
{
    const struct tc_spec *said = tc_policy_given(policy, tool, id);
    if (!said)
        return tc_format("%s by default", key);
    *ret_line = said->said[id];
    return tc_format("%s.%s, line %u of %s", said->prefix, key, TC_LINE_NUMBER(*ret_line),
                     tc_policy_file(policy, *ret_line));
}

static int report_difference(struct tc_resolve *r, const char *tool, const struct tc_difference *d)
{
    const struct toolcage_policy *ceiling = r->policy->ceiling;
    enum tc_key_id id = d->key;
    if (id == TC_KEY_FILESYSTEM && !tc_policy_given(r->policy, r->tool, id))
        id = TC_KEY_ARGUMENTS;
    const char *key = key_name(id);
    uint32_t line = r->policy->within, theirs = 0;
    _autofree_ char *here = where(r->policy, r->tool, id, key, &line);
    _autofree_ char *there = where(ceiling, tool ? tc_policy_tool(ceiling, tool) : NULL, d->key,
                                   key_name(d->key), &theirs);
    if (!here || !there)
        return tc_resolve_memory(r);
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, id);
    _autofree_ char *subject = said ? tc_spec_key(said, key) : strdup("within");
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, subject, line,
                             "narrow it, or widen the ceiling; a setting that cannot be compared "
                             "must be identical there",
                             "%s is more than %s (`within`, line %u of %s): %s", here, there,
                             TC_LINE_NUMBER(r->policy->within),
                             tc_policy_file(r->policy, r->policy->within), d->text);
}

static int tell_refused(struct tc_resolve *r, struct toolcage_error *why)
{
    if (tc_error_code(why) == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, "within", r->policy->within, tc_error_hint(why),
                             "the ceiling %s refuses the call: %s", r->policy->ceiling->name,
                             tc_error_message(why));
}

static int compare_grants(struct tc_resolve *r, const char *tool, struct tc_grant *theirs)
{
    _auto_(tc_differences_done) struct tc_differences changes = {0};
    const struct toolcage_policy *ceiling = r->policy->ceiling;
    /* the working directory grants nothing, so it is not compared */
    free(theirs->cwd);
    theirs->cwd = r->grant->cwd ? strdup(r->grant->cwd) : NULL;
    if (r->grant->cwd && !theirs->cwd)
        return tc_resolve_memory(r);
    tc_compare_grants(&changes, theirs, r->grant);
    changes.key = TC_KEY_ENV;
    tc_compare_env(&changes, ceiling, tool ? tc_policy_tool(ceiling, tool) : NULL, r->policy,
                   r->tool);
    if (changes.memory)
        return tc_resolve_memory(r);
    for (size_t i = 0; i < changes.count; i++)
        if (changes.items[i].kind == TC_DIFFERENCE_MORE)
            return report_difference(r, tool, &changes.items[i]);
    return 0;
}

/* The tool's grant does not contain the inputs and output of its install phase, so the install
 * phases of policy and ceiling must be identical. */
static int check_setup(struct tc_resolve *r, const char *tool)
{
    const struct tc_spec *theirs = tool ? tc_policy_tool(r->policy->ceiling, tool) : NULL;
    const struct tc_spec *mine = tc_spec_is_setup(r->tool) ? r->tool
                                 : r->tool                 ? r->tool->setup
                                                           : NULL;
    if (theirs && !tc_spec_is_setup(theirs))
        theirs = theirs->setup;
    if (!mine || (theirs && tc_streq(mine->canonical, theirs->canonical)))
        return 0;
    const struct toolcage_policy *ceiling = r->policy->ceiling;
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, mine->prefix, r->policy->within,
                             "write it there in the same way, or remove it",
                             "the ceiling %s has no install phase like that of %s", ceiling->name,
                             mine->prefix);
}

static const struct tc_server *server_of(const struct toolcage_policy *policy,
                                         const struct tc_spec *spec)
{
    for (size_t i = 0; spec && i < policy->server_count; i++)
        if (tc_streq(policy->servers[i].spec.prefix, spec->prefix))
            return &policy->servers[i];
    return NULL;
}

/* What passes between a server and its client is no part of its grant. */
static int check_server(struct tc_resolve *r)
{
    const struct toolcage_policy *ceiling = r->policy->ceiling;
    const struct tc_server *mine = server_of(r->policy, r->tool);
    const struct tc_server *theirs = server_of(ceiling, r->tool);
    bool unpinned = mine && theirs && theirs->pin && !mine->pin;
    bool shared = mine && theirs && theirs->per_call && !mine->per_call;
    if (!mine || (!unpinned && !shared && !(mine->pass & ~(theirs ? theirs->pass : 0))))
        return 0;
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, mine->spec.prefix, r->policy->within,
                             unpinned ? "write pin = true"
                             : shared ? "write per_call = true"
                                      : "pass less, or let the ceiling's server pass it",
                             unpinned ? "the ceiling %s pins the tools of %s"
                             : shared ? "the ceiling %s has a fresh server for each call of %s"
                                      : "the ceiling %s does not pass all that %s passes",
                             ceiling->name, mine->spec.prefix);
}

int tc_resolve_within(struct tc_resolve *r)
{
    const struct toolcage_policy *ceiling = r->policy->ceiling;
    _auto_(tc_grant_done) struct tc_grant theirs = {0};
    _autoerror_ struct toolcage_error *why = NULL;
    if (!ceiling)
        return 0;
    const char *tool = r->request->tool;
    tool = tool && tc_policy_has_tool(ceiling, tool) ? tool : NULL;
    int rc = check_setup(r, tool);
    if (!rc)
        rc = check_server(r);
    if (rc)
        return rc;
    return resolve(r, tool, &theirs, &why) ? tell_refused(r, why)
                                           : compare_grants(r, tool, &theirs);
}
