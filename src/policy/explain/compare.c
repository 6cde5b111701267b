/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Pairs the tools of two policies, and writes the list of differences. */
#include "policy/compare/compare.h"

#include "base/jsontext.h"
#include "policy/resolve/resolve.h"

/* One policy's part of a pair: its tool, server or install phase, and the grant or refusal. */
struct side {
    const struct toolcage_policy *policy;
    const struct tc_spec *spec;
    struct tc_grant grant;
    struct toolcage_error *err;
    int rc;
};

static void side_done(struct side *side)
{
    tc_grant_done(&side->grant);
    tc_error_free(side->err);
}

static void resolve(struct side *side, const struct tc_facts *facts)
{
    bool named = side->spec && side->spec != &side->policy->defaults;
    const struct tc_request request = {.tool = !named                          ? NULL
                                               : tc_spec_is_server(side->spec) ? side->spec->prefix
                                                                               : side->spec->name,
                                       .explain = true};
    side->rc = tc_policy_resolve(side->policy, &request, facts, &side->grant, &side->err);
}

/* Are the grants equal, apart from the paths that other tools write? These affect only which links
 * are followed. */
static int same_grant(struct tc_grant *from, struct tc_grant *to, bool *ret)
{
    struct tc_grant *both[] = {from, to};
    for (size_t i = 0; i < TC_COUNT(both); i++) {
        tc_strv_done(&both[i]->tool_writable);
        both[i]->tool_writable = (struct tc_strv){0};
        both[i]->policy = tc_policy_unref(both[i]->policy);
        if (tc_grant_digest(both[i], NULL))
            return TOOLCAGE_EMEMORY;
    }
    *ret = tc_streq(from->digest, to->digest);
    return 0;
}

static void compare_texts(struct tc_differences *changes, const struct tc_spec *from,
                          const struct tc_spec *to)
{
    _autofree_ char *before = tc_differences_list(changes, &from->command);
    _autofree_ char *now = tc_differences_list(changes, &to->command);
    if (!tc_strv_same(&from->command, &to->command))
        tc_differences_choice(changes, "the command", from->command.count ? before : "any",
                              to->command.count ? now : "any");
    tc_differences_choice(changes, "stdin", from->stdin_text, to->stdin_text);
    if (!tc_streq(from->description, to->description) || !tc_streq(from->title, to->title))
        tc_differences_add(changes, TC_DIFFERENCE_NEITHER, "another description for the model");
}

/* A policy that refuses every call of the tool grants it nothing. */
static bool compare_refusals(struct tc_differences *changes, const struct side *from,
                             const struct side *to)
{
    if (!from->rc && !to->rc)
        return false;
    if (from->rc && to->rc && !tc_streq(tc_error_message(from->err), tc_error_message(to->err)))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "refused by both, which cannot be compared: %s",
                           tc_error_message(to->err));
    else if (from->rc && !to->rc)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "can be called; before it was refused: %s",
                           tc_error_message(from->err));
    else if (to->rc && !from->rc)
        tc_differences_add(changes, changes->is_new ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                           "is refused: %s", tc_error_message(to->err));
    return !from->rc || !to->rc ||
           !tc_streq(tc_error_message(from->err), tc_error_message(to->err));
}

/* Compares the keys that only install phases have. */
static void compare_installs(struct tc_differences *changes, const struct tc_spec *x,
                             const struct tc_spec *y)
{
    if (!tc_streq(x->into, y->into))
        tc_differences_changed(changes, TC_DIFFERENCE_MORE, x->into, "installs into %s", y->into);
    tc_differences_lists(changes, &x->inputs, &y->inputs, TC_DIFFERENCE_MORE, "reads the input",
                         "no longer reads the input");
}

static int compare_sides(struct tc_differences *changes, const struct toolcage_policy *a,
                         const struct tc_spec *x, const struct toolcage_policy *b,
                         const struct tc_spec *y, const struct tc_facts *facts)
{
    _auto_(side_done) struct side from = {.policy = a, .spec = x};
    _auto_(side_done) struct side to = {.policy = b, .spec = y};
    size_t before = changes->count;
    changes->place = y->prefix;
    resolve(&from, facts);
    resolve(&to, facts);
    if (from.rc == TOOLCAGE_EMEMORY || to.rc == TOOLCAGE_EMEMORY)
        return TOOLCAGE_EMEMORY;
    if (!compare_refusals(changes, &from, &to) && !from.rc)
        tc_compare_grants(changes, &from.grant, &to.grant);
    compare_texts(changes, x, y);
    tc_compare_env(changes, a, x, b, y);
    tc_compare_arguments(changes, x, y);
    compare_installs(changes, x, y);
    /* the digest covers the whole grant, so a difference unknown to the comparisons is reported */
    bool same = true;
    if (!from.rc && !to.rc && same_grant(&from.grant, &to.grant, &same))
        return TOOLCAGE_EMEMORY;
    if (changes->count == before && !same && !changes->is_new)
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "another grant, in a way that cannot be compared");
    return 0;
}

/* A server's tool has only arguments and these keys; its grant is the server's. */
static void compare_server_tool(struct tc_differences *changes, const struct tc_spec *x,
                                const struct tc_spec *y)
{
    static const enum tc_key_id ids[] = {TC_KEY_TIMEOUT, TC_KEY_OUTPUT};
    changes->place = x->prefix;
    if (x->said[TC_KEY_ARGUMENTS] && !y->said[TC_KEY_ARGUMENTS])
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "takes any arguments");
    else if (!x->said[TC_KEY_ARGUMENTS] && y->said[TC_KEY_ARGUMENTS])
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "takes only the arguments that it names");
    else
        tc_compare_arguments(changes, x, y);
    for (size_t i = 0; i < TC_COUNT(ids); i++) {
        bool time = ids[i] == TC_KEY_TIMEOUT;
        int64_t a = !x->said[ids[i]] ? INT64_MAX : time ? x->limits.timeout_ms : x->limits.output;
        int64_t b = !y->said[ids[i]] ? INT64_MAX : time ? y->limits.timeout_ms : y->limits.output;
        if (a != b)
            tc_differences_add(changes, b > a ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS, "%s %s",
                               time ? "timeout" : "output", b > a ? "is longer" : "is shorter");
    }
    if (x->limits.output_kill && !y->limits.output_kill)
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "too much output is truncated, and "
                           "does not end the call");
    if (!tc_streq(x->tier, y->tier))
        tc_differences_add(
            changes, TC_DIFFERENCE_MORE, "tier %s instead of %s, which is not compared here",
            y->tier ? y->tier : "of the server", x->tier ? x->tier : "of the server");
    if (!tc_streq(x->risk, y->risk))
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "another risk, which is not compared here");
    compare_texts(changes, x, y);
}

static const struct tc_spec *find_spec(const struct tc_spec *specs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (tc_streq(specs[i].name, name))
            return &specs[i];
    return NULL;
}

static const struct tc_server *find_server(const struct toolcage_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->server_count; i++)
        if (tc_streq(policy->servers[i].spec.name, name))
            return &policy->servers[i];
    return NULL;
}

static void added(struct tc_differences *changes, const struct tc_spec *spec)
{
    changes->place = spec->prefix;
    tc_differences_add(changes, TC_DIFFERENCE_MORE, "is new");
}

static void removed(struct tc_differences *changes, const struct tc_spec *spec)
{
    changes->place = spec->prefix;
    tc_differences_add(changes, TC_DIFFERENCE_LESS, "is removed");
}

/* Compares a tool, server or install phase; x or y is NULL if only one policy has it. Of a new one,
 * every permission is listed. */
static int compare_pair(struct tc_differences *changes, const struct toolcage_policy *a,
                        const struct tc_spec *x, const struct toolcage_policy *b,
                        const struct tc_spec *y, const struct tc_facts *facts)
{
    const struct toolcage_policy *nothing = changes->nothing;
    if (x && y)
        return compare_sides(changes, a, x, b, y, facts);
    if (x)
        removed(changes, x);
    if (!y)
        return 0;
    added(changes, y);
    changes->is_new = true;
    int rc = compare_sides(changes, nothing, &nothing->defaults, b, y, facts);
    changes->is_new = false;
    return rc;
}

static int compare_tools(struct tc_differences *changes, const struct toolcage_policy *a,
                         const struct toolcage_policy *b, const struct tc_facts *facts)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < a->tool_count; i++) {
        const struct tc_spec *one = &a->tools[i],
                             *other = find_spec(b->tools, b->tool_count, one->name);
        rc = compare_pair(changes, a, one, b, other, facts);
        if (other && !rc)
            rc = compare_pair(changes, a, one->setup, b, other->setup, facts);
    }
    for (size_t i = 0; !rc && i < b->tool_count; i++) {
        if (find_spec(a->tools, a->tool_count, b->tools[i].name))
            continue;
        rc = compare_pair(changes, a, NULL, b, &b->tools[i], facts);
        if (!rc)
            rc = compare_pair(changes, a, NULL, b, b->tools[i].setup, facts);
    }
    return rc;
}

/* The rule for this tool of the server; NULL: the server's clients do not see it. */
static const struct tc_spec *find_rule(const struct tc_server *server, const char *name)
{
    const struct tc_spec *own = find_spec(server->tools, server->tool_count, name);
    return own ? own : find_spec(server->tools, server->tool_count, TC_EACH_TOOL);
}

static void compare_server_tools(struct tc_differences *changes, const struct tc_server *a,
                                 const struct tc_server *b)
{
    for (size_t i = 0; i < a->tool_count; i++) {
        const struct tc_spec *other = find_rule(b, a->tools[i].name);
        if (other)
            compare_server_tool(changes, &a->tools[i], other);
        else
            removed(changes, &a->tools[i]);
    }
    for (size_t i = 0; i < b->tool_count; i++) {
        if (find_spec(a->tools, a->tool_count, b->tools[i].name))
            continue;
        const struct tc_spec *each = find_rule(a, b->tools[i].name);
        if (each)
            compare_server_tool(changes, each, &b->tools[i]);
        else
            added(changes, &b->tools[i]);
    }
}

/* What toolcage wrap does with the messages of a server. */
static void compare_server_rules(struct tc_differences *changes, const struct tc_server *a,
                                 const struct tc_server *b)
{
    changes->place = a->spec.prefix;
    if (a->pin != b->pin)
        tc_differences_add(changes, a->pin ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                           a->pin ? "definitions of its tools need no approval"
                                  : "definitions of its tools need approval");
    if (a->per_call != b->per_call)
        tc_differences_add(changes, a->per_call ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                           a->per_call ? "one server serves all calls of its tools"
                                       : "a fresh server serves each call of its tools");
    for (size_t i = 0; tc_values_pass[i]; i++)
        if ((a->pass ^ b->pass) & 1U << i)
            tc_differences_add(changes, b->pass & 1U << i ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                               b->pass & 1U << i ? "passes %s of MCP"
                                                 : "no longer passes %s of MCP",
                               tc_values_pass[i]);
}

static int compare_servers(struct tc_differences *changes, const struct toolcage_policy *a,
                           const struct toolcage_policy *b, const struct tc_facts *facts)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < a->server_count; i++) {
        const struct tc_server *one = &a->servers[i], *other = find_server(b, one->spec.name);
        rc = compare_pair(changes, a, &one->spec, b, other ? &other->spec : NULL, facts);
        if (other)
            compare_server_tools(changes, one, other);
        if (other)
            compare_server_rules(changes, one, other);
        if (other && !rc)
            rc = compare_pair(changes, a, one->spec.setup, b, other->spec.setup, facts);
    }
    for (size_t i = 0; !rc && i < b->server_count; i++) {
        if (find_server(a, b->servers[i].spec.name))
            continue;
        rc = compare_pair(changes, a, NULL, b, &b->servers[i].spec, facts);
        compare_server_rules(changes,
                             &(struct tc_server){.spec = b->servers[i].spec,
                                                 .pin = b->servers[i].pin,
                                                 .per_call = b->servers[i].per_call},
                             &b->servers[i]);
        if (!rc)
            rc = compare_pair(changes, a, NULL, b, b->servers[i].spec.setup, facts);
    }
    return rc;
}

static void compare_ceilings(struct tc_differences *changes, const struct toolcage_policy *from,
                             const struct toolcage_policy *to)
{
    changes->place = "within";
    if (from && (!to || !tc_streq(from->digest, to->digest)))
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "%s",
                           to ? "another ceiling, which cannot be compared"
                              : "no longer within a ceiling");
    else if (to && !from)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "within a ceiling");
}

int tc_policy_compare(const struct toolcage_policy *from, const struct toolcage_policy *to,
                      const struct tc_facts *facts, struct tc_differences *ret,
                      struct toolcage_error **err)
{
    struct tc_facts neutral = *facts;
    struct toolcage_policy *nothing = NULL;
    int rc = tc_policy_compile("", 0, "", "/", NULL, &nothing, err);
    if (rc)
        return rc;
    neutral.workspace = neutral.cwd = TC_COMPARE_WORKSPACE;
    neutral.environ = NULL;
    ret->nothing = nothing;
    ret->from_nothing = tc_streq(from->digest, nothing->digest);
    compare_ceilings(ret, from->ceiling, to->ceiling);
    tc_compare_audit(ret, from, to);
    rc = compare_sides(ret, from, &from->defaults, to, &to->defaults, &neutral);
    if (!rc)
        rc = compare_tools(ret, from, to, &neutral);
    if (!rc)
        rc = compare_servers(ret, from, to, &neutral);
    ret->place = NULL;
    ret->nothing = tc_policy_unref(nothing);
    return rc || ret->memory ? tc_fail_memory(err) : 0;
}

int tc_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                        const struct tc_facts *facts, char **ret, struct toolcage_error **err)
{
    static const char *const words[] = {[TC_DIFFERENCE_MORE] = "more",
                                        [TC_DIFFERENCE_LESS] = "less",
                                        [TC_DIFFERENCE_NEITHER] = "neither"};
    _auto_(tc_differences_done) struct tc_differences changes = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    bool widened = false;
    int rc = tc_policy_compare(from, to, facts, &changes, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < changes.count; i++)
        widened |= changes.items[i].kind == TC_DIFFERENCE_MORE;
    tc_buf_addf(&out, "{\"widened\":%s,\"changes\":[", widened ? "true" : "false");
    for (size_t i = 0; i < changes.count; i++) {
        tc_buf_adds(&out, i ? ",{" : "{");
        tc_json_member(&out, "place", changes.items[i].place);
        tc_json_member(&out, "change", words[changes.items[i].kind]);
        tc_json_member(&out, "text", changes.items[i].text);
        tc_buf_addc(&out, '}');
    }
    tc_buf_adds(&out, "]}");
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}
