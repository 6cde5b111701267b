/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The tools of a policy in the formats of models and clients, each with a closed input schema. */
#include <string.h>

#include "base/jsontext.h"
#include "policy/backends.h"
#include "policy/explain/explain.h"
#include "policy/resolve/resolve.h"

/* `together`: include the rules that apply to all arguments together. */
static void add_schema(struct tc_buf *out, const struct tc_spec *tool, bool together)
{
    bool first = true;
    tc_buf_adds(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < tool->argument_count; i++) {
        tc_json_key(out, tool->arguments[i].name);
        tc_json_canonical(tool->arguments[i].schema, out);
    }
    tc_buf_adds(out, "},\"required\":[");
    for (size_t i = 0; i < tool->argument_count; i++) {
        if (tool->arguments[i].optional)
            continue;
        tc_buf_adds(out, first ? "" : ",");
        tc_json_string(out, tool->arguments[i].name, strlen(tool->arguments[i].name));
        first = false;
    }
    tc_buf_adds(out, "],\"additionalProperties\":false");
    const char *word;
    json_t *said;
    json_object_foreach(together && tool->together ? tool->together->schema : NULL, word, said)
    {
        tc_json_key(out, word);
        tc_json_canonical(said, out);
    }
    tc_buf_addc(out, '}');
}

/* OpenAI's strict mode requires every argument, and supports only enumerated values for strings. It
 * supports some composed schemas; here none counts as strict. */
static bool is_strict(const json_t *schema)
{
    static const char *const foreign[] = {"minLength",   "maxLength", "pattern", "format",
                                          "properties",  "anyOf",     "oneOf",   "allOf",
                                          "prefixItems", "not"};
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; i < TC_COUNT(foreign); i++)
        if (json_object_get(schema, foreign[i]))
            return false;
    return json_is_string(json_object_get(schema, "type")) && (!items || is_strict(items));
}

static bool all_strict(const struct tc_spec *tool)
{
    if (tool->together)
        return false;
    for (size_t i = 0; i < tool->argument_count; i++)
        if (tool->arguments[i].optional || !is_strict(tool->arguments[i].schema))
            return false;
    return true;
}

/* The schema is the member `key`. The closing brace is the caller's. */
static void add_function(struct tc_buf *out, const struct tc_spec *tool, const char *key)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", tool->name);
    tc_json_member(out, "description", tool->description ? tool->description : "");
    tc_json_key(out, key);
    add_schema(out, tool, false);
}

/* OpenAI and Anthropic reject composed schemas at the top level. */
static void add_openai(const struct toolcage_policy *policy, const struct tc_spec *tool,
                       struct tc_buf *out)
{
    tc_buf_adds(out, "{\"type\":\"function\",\"function\":");
    add_function(out, tool, "parameters");
    tc_buf_adds(out, all_strict(tool) ? ",\"strict\":true}}" : "}}");
}

static void add_anthropic(const struct toolcage_policy *policy, const struct tc_spec *tool,
                          struct tc_buf *out)
{
    add_function(out, tool, "input_schema");
    tc_buf_addc(out, '}');
}

/* Has an argument a bound for hosts (`host`), or for paths that the tool writes? */
static bool has_bound(const struct tc_spec *tool, bool host)
{
    for (size_t i = 0; i < tool->argument_count; i++)
        for (size_t b = 0; b < tool->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &tool->arguments[i].bounds[b];
            if (host ? !bound->path : bound->path && bound->access == TC_ACCESS_WRITE)
                return true;
        }
    return false;
}

/* Hints that follow from the grant, whatever the tool does. Clients may show them and need not
 * trust them. */
static void add_annotations(const struct toolcage_policy *policy, const struct tc_spec *tool,
                            struct tc_buf *out)
{
    const struct tc_spec *net = tc_policy_given(policy, tool, TC_KEY_NETWORK);
    const struct tc_spec *sockets = tc_policy_given(policy, tool, TC_KEY_UNIX_SOCKETS);
    bool open =
        (net && net->net_count) || (sockets && sockets->unix_sockets) || has_bound(tool, true);
    bool writes = tc_spec_writable(tc_policy_given(policy, tool, TC_KEY_FILESYSTEM)) ||
                  has_bound(tool, false) || open; /* a tool may change data on its hosts */
    tc_json_key(out, "annotations");
    tc_buf_addf(out, "{\"readOnlyHint\":%s,\"destructiveHint\":%s,\"openWorldHint\":%s}",
                writes ? "false" : "true", writes ? "true" : "false", open ? "true" : "false");
}

static void add_mcp(const struct toolcage_policy *policy, const struct tc_spec *tool,
                    struct tc_buf *out)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", tool->name);
    if (tool->title)
        tc_json_member(out, "title", tool->title);
    tc_json_member(out, "description", tool->description ? tool->description : "");
    tc_json_key(out, "inputSchema");
    add_schema(out, tool, true);
    add_annotations(policy, tool, out);
    tc_buf_addc(out, '}');
}

static void add_toolcage(const struct toolcage_policy *policy, const struct tc_spec *tool,
                         struct tc_buf *out)
{
    const struct tc_spec *tier = tc_policy_given(policy, tool, TC_KEY_TIER);
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", tool->name);
    tc_json_member(out, "description", tool->description ? tool->description : "");
    tc_json_optional(out, "tier", tier ? tier->tier : NULL);
    tc_json_member(out, "backend", tc_policy_backend(policy, tool));
    tc_json_list(out, "command", &tool->command);
    tc_json_key(out, "input_schema");
    add_schema(out, tool, true);
    tc_buf_addc(out, '}');
}

static void add_server_tool(const struct tc_spec *tool, struct tc_buf *out)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", tool->name);
    if (tool->title)
        tc_json_member(out, "title", tool->title);
    if (tool->description)
        tc_json_member(out, "description", tool->description);
    if (tool->tier)
        tc_json_member(out, "tier", tool->tier);
    if (tool->said[TC_KEY_TIMEOUT]) {
        tc_json_number(out, "timeout_ms", tool->limits.timeout_ms);
    }
    if (tool->said[TC_KEY_OUTPUT]) {
        tc_json_number(out, "output", tool->limits.output);
    }
    if (tool->said[TC_KEY_ARGUMENTS]) {
        tc_json_key(out, "input_schema");
        add_schema(out, tool, true);
    }
    tc_buf_addc(out, '}');
}

/* What toolcage wrap does with its messages. */
static void add_rules(struct tc_buf *out, const struct tc_server *server)
{
    const char *comma = "";
    if (server->spec.url)
        tc_json_member(out, "url", server->spec.url);
    tc_json_bool(out, "pin", server->pin);
    if (server->per_call)
        tc_json_bool(out, "per_call", true);
    tc_json_key(out, "pass");
    tc_buf_addc(out, '[');
    for (size_t i = 0; tc_values_pass[i]; i++)
        if (server->pass & 1U << i) {
            tc_buf_adds(out, comma);
            tc_json_string(out, tc_values_pass[i], strlen(tc_values_pass[i]));
            comma = ",";
        }
    tc_buf_addc(out, ']');
}

void tc_server_explain(struct tc_buf *out, const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec *spec = name ? tc_policy_tool(policy, name) : NULL;
    tc_json_key(out, "mcp");
    for (size_t i = 0; i < policy->server_count; i++)
        if (spec == &policy->servers[i].spec) {
            tc_buf_addc(out, '{');
            add_rules(out, &policy->servers[i]);
            tc_buf_addc(out, '}');
            return;
        }
    tc_buf_adds(out, "null");
}

static void add_server(const struct toolcage_policy *policy, const struct tc_server *server,
                       struct tc_buf *out)
{
    const struct tc_spec *net = tc_policy_given(policy, &server->spec, TC_KEY_NETWORK);
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", server->spec.name);
    tc_json_bool(out, "network", net && net->net_count);
    add_rules(out, server);
    if (server->spec.said[TC_KEY_OUTPUT])
        tc_json_number(out, "output", server->spec.limits.output);
    tc_json_list(out, "command", &server->spec.command);
    tc_json_key(out, "tools");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < server->tool_count; i++) {
        tc_buf_adds(out, i ? "," : "");
        add_server_tool(&server->tools[i], out);
    }
    tc_buf_adds(out, "]}");
}

static int servers_json(const struct toolcage_policy *policy, char **ret,
                        struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '[');
    for (size_t i = 0; i < policy->server_count; i++) {
        tc_buf_adds(&out, i ? "," : "");
        add_server(policy, &policy->servers[i], &out);
    }
    tc_buf_addc(&out, ']');
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}

/* Which tools a list has. */
enum listed {
    LISTED_FREE,     /* those with a command whose calls need no approval */
    LISTED_APPROVED, /* those, too, whose calls run after an approval */
    LISTED_MANUAL,   /* those, too, that only a person starts */
    LISTED_ALL
};

static bool is_listed(const struct toolcage_policy *policy, const struct tc_spec *tool,
                      enum listed which)
{
    const struct tc_spec *said = tc_policy_given(policy, tool, TC_KEY_TIER);
    bool asks = said && tc_tier_asks(said->tier);
    bool by_hand = said && tc_streq(said->tier, "ManualOnly");
    return which == LISTED_ALL || (tool->command.count && (!asks || which == LISTED_MANUAL ||
                                                           (which == LISTED_APPROVED && !by_hand)));
}

int tc_policy_tools_json(const struct toolcage_policy *policy, const char *format, char **ret,
                         struct toolcage_error **err)
{
    static const struct {
        const char *name;
        void (*add)(const struct toolcage_policy *, const struct tc_spec *, struct tc_buf *);
        enum listed which;
    } formats[] = {
        {"openai", add_openai, LISTED_FREE},    {"anthropic", add_anthropic, LISTED_FREE},
        {"mcp", add_mcp, LISTED_FREE},          {"mcp-approval", add_mcp, LISTED_APPROVED},
        {"mcp-manual", add_mcp, LISTED_MANUAL}, {"toolcage", add_toolcage, LISTED_ALL}};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    size_t f = 0;
    if (tc_streq(format, "servers"))
        return servers_json(policy, ret, err);
    while (f < TC_COUNT(formats) && !tc_streq(formats[f].name, format))
        f++;
    if (f == TC_COUNT(formats))
        return tc_fail(
            err,
            TC_WHY(TOOLCAGE_EUSAGE, "tools", format,
                   "the formats are openai, anthropic, mcp, mcp-approval, mcp-manual, toolcage and "
                   "servers"),
            "there is no format \"%.40s\"", format ? format : "");
    tc_buf_addc(&out, '[');
    for (size_t i = 0; i < policy->tool_count; i++) {
        if (!is_listed(policy, &policy->tools[i], formats[f].which))
            continue;
        tc_buf_adds(&out, out.len > 1 ? "," : "");
        formats[f].add(policy, &policy->tools[i], &out);
    }
    tc_buf_addc(&out, ']');
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}
