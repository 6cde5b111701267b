/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy object: reference counting, freeing, and queries about a tool, server or install
 * phase. */
#include "policy/policy.h"

#include <string.h>

#include "policy/endpoint.h"
#include "policy/model.h"
#include "policy/plain.h"

#define LIMIT(F, key, member, word, unit, flags, unsaid, ...) .member = (unsaid),
#define PART(F, type, member, key, word, unit, unsaid) .member = (unsaid),
const struct tc_limits tc_limits_default = {TC_LIMITS_MAP(LIMIT, PART, )};

static void argument_done(struct tc_argument *argument)
{
    free(argument->name);
    json_decref(argument->schema);
    for (size_t i = 0; i < argument->bound_count; i++) {
        free(argument->bounds[i].path);
        tc_net_entry_done(&argument->bounds[i].host);
    }
    free(argument->bounds);
    for (size_t i = 0; i < argument->pattern_count; i++)
        tc_pattern_free(argument->patterns[i]);
    free(argument->patterns);
}

static void rules_done(struct tc_fs_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rules[i].path);
        free(rules[i].from);
    }
    free(rules);
}

void tc_spec_done(struct tc_spec *spec)
{
    char *texts[] = {spec->prefix,     spec->name, spec->description, spec->title,
                     spec->stdin_text, spec->tier, spec->risk,        spec->backend,
                     spec->module,     spec->into, spec->canonical,   spec->url};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < spec->argument_count; i++)
        argument_done(&spec->arguments[i]);
    free(spec->arguments);
    if (spec->together)
        argument_done(spec->together);
    free(spec->together);
    rules_done(spec->fs, spec->fs_count);
    rules_done(spec->sockets, spec->socket_count);
    for (size_t i = 0; i < spec->net_count; i++)
        tc_net_entry_done(&spec->net[i]);
    free(spec->net);
    for (size_t i = 0; i < spec->secret_count; i++)
        tc_secret_done(&spec->secrets[i]);
    free(spec->secrets);
    struct tc_strv *lists[] = {&spec->command,        &spec->env_pass,      &spec->env_set,
                               &spec->fallback,       &spec->layers,        &spec->inputs,
                               &spec->syscalls_allow, &spec->syscalls_deny, &spec->caches};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    tc_plain_done(spec);
    tc_steering_done(&spec->steering);
    if (spec->setup)
        tc_spec_done(spec->setup);
    free(spec->setup);
}

static void server_done(struct tc_server *server)
{
    tc_spec_done(&server->spec);
    for (size_t i = 0; i < server->tool_count; i++)
        tc_spec_done(&server->tools[i]);
    free(server->tools);
}

static void classes_done(struct tc_class *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(classes[i].name);
        free(classes[i].backend);
    }
    free(classes);
}

static void tests_done(struct tc_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(tests[i].tool);
        free(tests[i].arguments);
        free(tests[i].call);
        for (size_t a = 0; a < tests[i].access_count; a++)
            free(tests[i].accesses[a].text);
        free(tests[i].accesses);
    }
    free(tests);
}

const struct tc_audit_rules *tc_policy_audit(const struct toolcage_policy *policy)
{
    const struct tc_audit_rules *above = policy->ceiling ? tc_policy_audit(policy->ceiling) : NULL;
    return above ? above : policy->audit.on ? &policy->audit : NULL;
}

bool tc_policy_audit_own(const struct toolcage_policy *policy)
{
    return !policy->ceiling || tc_policy_audit(policy->ceiling);
}

struct toolcage_policy *tc_policy_ref(struct toolcage_policy *policy)
{
    if (policy)
        atomic_fetch_add_explicit(&policy->refs, 1, memory_order_relaxed);
    return policy;
}

struct toolcage_policy *tc_policy_unref(struct toolcage_policy *policy)
{
    if (!policy || atomic_fetch_sub_explicit(&policy->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    tc_spec_done(&policy->defaults);
    for (size_t i = 0; i < policy->tool_count; i++)
        tc_spec_done(&policy->tools[i]);
    for (size_t i = 0; i < policy->server_count; i++)
        server_done(&policy->servers[i]);
    tc_strv_done(&policy->settings);
    tc_fields_done(&tc_upstream_fields, &policy->upstream);
    free(policy->upstream_from);
    free(policy->audit.anchor);
    classes_done(policy->tiers, policy->tier_count);
    classes_done(policy->risks, policy->risk_count);
    tests_done(policy->tests, policy->test_count);
    free(policy->tools);
    free(policy->by_name);
    tc_strv_done(&policy->writable);
    tc_strv_done(&policy->workspace_writable);
    free(policy->servers);
    free(policy->name);
    free(policy->dir);
    free(policy->home);
    tc_policy_files_done(policy);
    (void)tc_policy_unref(policy->ceiling);
    free(policy);
    return NULL;
}

const char *tc_policy_file(const struct toolcage_policy *policy, uint32_t line)
{
    size_t file = TC_LINE_FILE(line);
    return file < policy->file_count ? policy->files[file].name : policy->name;
}

uint32_t tc_policy_number(uint32_t line)
{
    return TC_LINE_NUMBER(line);
}

/* The server's tool with this prefix, "server.x.tool.y", or the entry for each tool without one. */
static const struct tc_spec *find_server_tool(const struct tc_server *server, const char *place)
{
    const struct tc_spec *each = NULL;
    for (size_t t = 0; t < server->tool_count; t++) {
        const struct tc_spec *tool = &server->tools[t];
        size_t length = strlen(tool->prefix);
        if (tc_streq(tool->prefix, place))
            return tool;
        if (tc_streq(tool->name, TC_EACH_TOOL) && !strncmp(place, tool->prefix, length - 1) &&
            place[length - 1] && !strchr(place + length, '.'))
            each = tool;
    }
    return each;
}

/* Finds a server by its prefix, "server.x", or by a tool's prefix, "server.x.tool.y" (tool names
 * have no dots). *ret_asked (may be NULL) is the spec with that prefix. */
static const struct tc_spec *find_server(const struct toolcage_policy *policy, const char *place,
                                         const struct tc_spec **ret_asked)
{
    for (size_t i = 0; place && i < policy->server_count; i++) {
        const struct tc_server *server = &policy->servers[i];
        const struct tc_spec *asked = tc_streq(server->spec.prefix, place) ? &server->spec : NULL;
        asked = asked ? asked : find_server_tool(server, place);
        if (asked && ret_asked)
            *ret_asked = asked;
        if (asked)
            return &server->spec;
    }
    return NULL;
}

const struct tc_spec *tc_policy_tool(const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec *tool = tc_policy_find_tool(policy, name);
    tool = tool ? tool : find_server(policy, name, NULL);
    return tool ? tool : tc_policy_find_setup(policy, name);
}

char *tc_policy_name_hint(const struct toolcage_policy *policy, const char *name)
{
    enum { LISTED = 12 };
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct tc_near near = tc_near_to(name);
    const char *best = NULL;
    for (size_t i = 0; i < policy->tool_count; i++)
        best = tc_near_is(&near, policy->tools[i].name) ? policy->tools[i].name : best;
    if (best)
        tc_buf_addf(&out, "did you mean %s? ", best);
    tc_buf_adds(&out, policy->tool_count ? "its tools are" : "it has no tools");
    for (size_t i = 0; i < policy->tool_count && i < LISTED; i++)
        tc_buf_addf(&out, "%s %.80s", i ? "," : "", policy->tools[i].name);
    if (policy->tool_count > LISTED)
        tc_buf_addf(&out, " and %zu more (toolcage tools)", policy->tool_count - LISTED);
    return tc_buf_steal(&out);
}

const struct tc_spec *tc_policy_asked(const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec *asked = NULL;
    const struct tc_spec *tool = tc_policy_tool(policy, name);
    return find_server(policy, name, &asked) ? asked : tool;
}

const struct tc_fs_rule *tc_spec_writable(const struct tc_spec *files)
{
    for (size_t i = 0; files && i < files->fs_count; i++)
        if (files->fs[i].access == TC_ACCESS_WRITE)
            return &files->fs[i];
    return NULL;
}

const struct tc_argument *tc_spec_argument(const struct tc_spec *spec, const char *name, size_t len)
{
    for (size_t i = 0; spec && i < spec->argument_count; i++)
        if (strncmp(spec->arguments[i].name, name, len) == 0 && !spec->arguments[i].name[len])
            return &spec->arguments[i];
    return NULL;
}

const char *tc_access_list(enum tc_access access)
{
    return access == TC_ACCESS_DENY    ? "filesystem.denied"
           : access == TC_ACCESS_WRITE ? "filesystem.writable"
                                       : "filesystem.readable";
}

const char *tc_policy_url(const struct toolcage_policy *policy, const char *tool)
{
    const struct tc_spec *spec = tool ? tc_policy_tool(policy, tool) : NULL;
    return spec ? spec->url : NULL;
}

bool tc_spec_is_server(const struct tc_spec *spec)
{
    return spec && !spec->into && tc_startswith(spec->prefix, "server.");
}

const struct tc_spec *tc_policy_given(const struct toolcage_policy *policy,
                                      const struct tc_spec *tool, enum tc_key_id id)
{
    if (tool && tool->said[id])
        return tool;
    /* a server runs as long as its client, so the default timeout of calls does not apply */
    if (id == TC_KEY_TIMEOUT && tc_spec_is_server(tool))
        return NULL;
    if (tc_spec_is_setup(tool) && !tc_setup_inherits(id))
        return NULL;
    return policy->defaults.said[id] ? &policy->defaults : NULL;
}

char *tc_spec_key(const struct tc_spec *spec, const char *key)
{
    return tc_format("%s.%s", spec->prefix, key);
}

bool tc_policy_has_tool(const struct toolcage_policy *policy, const char *tool)
{
    return tool && tc_policy_tool(policy, tool);
}

bool tc_policy_is_callers(const struct toolcage_policy *policy)
{
    return policy->is_default || policy->is_preset;
}

bool tc_policy_is_default(const struct toolcage_policy *policy)
{
    return policy->is_default;
}

const char *tc_policy_name(const struct toolcage_policy *policy)
{
    return policy->name;
}

const char *tc_policy_digest(const struct toolcage_policy *policy)
{
    return policy->digest;
}

static const char ending[] = ".setup";

bool tc_spec_is_setup(const struct tc_spec *spec)
{
    return spec && spec->into;
}

/* Does an install phase inherit this key from [defaults]? It does not inherit keys that only
 * concern calls (approval, results), nor `cwd`, because it starts in the directory of its inputs.
 */
bool tc_setup_inherits(enum tc_key_id id)
{
    static const enum tc_key_id not_these[] = {TC_KEY_SECRETS, TC_KEY_COLLECT, TC_KEY_WORKSPACE,
                                               TC_KEY_TIER,    TC_KEY_RISK,    TC_KEY_CWD};
    for (size_t i = 0; i < TC_COUNT(not_these); i++)
        if (not_these[i] == id)
            return false;
    return true;
}

const struct tc_spec *tc_policy_find_setup(const struct toolcage_policy *policy, const char *name)
{
    char tool[128];
    size_t length = name ? strlen(name) : 0;
    if (!name || !tc_endswith(name, ending) || length >= sizeof(tool))
        return NULL;
    for (size_t i = 0; i < policy->server_count; i++) {
        const struct tc_spec *setup = policy->servers[i].spec.setup;
        if (setup && tc_streq(setup->name, name))
            return setup;
    }
    memcpy(tool, name, length);
    tool[length - strlen(ending)] = '\0';
    const struct tc_spec *spec = tc_policy_find_tool(policy, tool);
    return spec ? spec->setup : NULL;
}

void tc_secret_done(struct tc_secret *secret)
{
    tc_fields_done(&tc_secret_fields, secret);
}

void tc_policy_file_done(struct tc_policy_file *file)
{
    char *texts[] = {file->name, file->path, file->real, file->said, file->dir, file->text};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    *file = (struct tc_policy_file){0};
}

void tc_policy_files_done(struct toolcage_policy *policy)
{
    while (policy->file_count)
        tc_policy_file_done(&policy->files[--policy->file_count]);
}

const char *tc_module_pin(const char *said)
{
    const char *at = said ? strrchr(said, '@') : NULL;
    return at && tc_startswith(at, "@sha256:") ? at : NULL;
}
