/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy's rules for the server's tools: which are listed, with which title and description,
 * and which arguments are allowed. The library validates arguments as it does for the policy's own
 * tools. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/parts.h"
#include "mcp/pin.h"
#include "mcp/wrap.h"

static bool take_text(const json_t *object, const char *key, char **ret)
{
    const char *text = json_string_value(json_object_get(object, key));
    *ret = text ? strdup(text) : NULL;
    return *ret || !text;
}

static bool take_tool(struct tc_wrap *wrap, const json_t *said)
{
    struct tc_wrap_tool *tool = &wrap->tools[wrap->tool_count++];
    tool->closed = json_object_get(said, "input_schema") != NULL;
    tool->timeout_ms = json_integer_value(json_object_get(said, "timeout_ms"));
    tool->output = json_integer_value(json_object_get(said, "output"));
    return take_text(said, "name", &tool->name) && take_text(said, "title", &tool->title) &&
           take_text(said, "description", &tool->description) &&
           take_text(said, "tier", &tool->tier);
}

/* The parts of the protocol that pass. */
static unsigned read_parts(const json_t *words)
{
    unsigned parts = 0;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        for (unsigned part = 1; word && part < TC_PART_COUNT; part++)
            if (strcmp(word, tc_part_name(part)) == 0)
                parts |= 1U << part;
    }
    return parts;
}

static const json_t *find_server(const json_t *servers, const char *name)
{
    size_t i;
    json_t *server;
    json_array_foreach(servers, i, server)
    {
        const char *its = json_string_value(json_object_get(server, "name"));
        if (its && strcmp(its, name) == 0)
            return server;
    }
    return NULL;
}

int tc_rules_load(struct tc_wrap *wrap, struct toolcage_error **err)
{
    char *text = NULL;
    int rc = toolcage_policy_tools_json(wrap->options->policy, "servers", &text, err);
    if (rc < 0)
        return rc;
    json_t *servers = json_loads(text, 0, NULL);
    toolcage_free(text);
    const json_t *server = find_server(servers, wrap->options->server);
    const json_t *tools = json_object_get(server, "tools");
    wrap->output = json_integer_value(json_object_get(server, "output"));
    wrap->per_call = json_is_true(json_object_get(server, "per_call"));
    wrap->pass = read_parts(json_object_get(server, "pass"));
    wrap->tools = calloc(json_array_size(tools) + 1, sizeof(*wrap->tools));
    bool fine = servers && wrap->tools;
    for (size_t i = 0; fine && i < json_array_size(tools); i++)
        fine = take_tool(wrap, json_array_get(tools, i));
    json_decref(servers);
    return fine ? 0 : TOOLCAGE_EMEMORY;
}

void tc_rules_done(struct tc_wrap *wrap)
{
    for (size_t i = 0; i < wrap->tool_count; i++) {
        struct tc_wrap_tool *tool = &wrap->tools[i];
        char *texts[] = {tool->name, tool->title, tool->description, tool->tier};
        for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
            free(texts[t]);
    }
    free(wrap->tools);
}

/* The rule for every tool that has none: tool."*". */
static bool is_each(const struct tc_wrap_tool *tool)
{
    return strcmp(tool->name, "*") == 0;
}

const struct tc_wrap_tool *tc_rules_find(const struct tc_wrap *wrap, struct tc_slice name)
{
    const struct tc_wrap_tool *each = NULL;
    for (size_t i = 0; i < wrap->tool_count; i++) {
        if (tc_scan_is(name, wrap->tools[i].name))
            return &wrap->tools[i];
        if (is_each(&wrap->tools[i]) && tc_scan_is_string(name))
            each = &wrap->tools[i];
    }
    return each;
}

/* ---- calls ---- */

static char *sentence(const struct toolcage_error *err)
{
    char *text = NULL;
    const char *message = toolcage_error_message(err), *hint = toolcage_error_hint(err),
               *subject = toolcage_error_subject(err);
    bool named = !*subject || strstr(message, subject);
    if (asprintf(&text, "denied: %s%s%s%s%s", named ? "" : subject, named ? "" : ": ", message,
                 *hint ? "; " : "", hint) < 0)
        return NULL;
    return text;
}

static int explain(struct tc_wrap *wrap, const char *place, const char *arguments,
                   struct toolcage_error **err)
{
    const struct tc_wrap_options *options = wrap->options;
    struct toolcage_call *call = NULL;
    char *grant = NULL;
    int rc = toolcage_call_new(wrap->engine, options->policy, place, &call, err);
    if (rc == 0 && options->narrow)
        rc = options->narrow(options->userdata, call, err);
    if (rc == 0)
        rc = toolcage_call_set_arguments_json(call, arguments, err);
    if (rc == 0)
        rc = toolcage_call_explain_json(call, NULL, &grant, err);
    toolcage_free(grant);
    (void)toolcage_call_unref(call);
    return rc;
}

static int check_arguments(struct tc_wrap *wrap, const struct tc_wrap_tool *tool,
                           struct tc_slice arguments, char **ret_refusal)
{
    struct toolcage_error *err = NULL;
    char *place = NULL;
    char *text = arguments.at ? strndup(arguments.at, arguments.length) : strdup("{}");
    if (asprintf(&place, "server.%s.tool.%s", wrap->options->server, tool->name) < 0)
        place = NULL;
    int rc = text && place ? explain(wrap, place, text, &err) : TOOLCAGE_EMEMORY;
    free(text);
    free(place);
    if (rc == 0 || rc == TOOLCAGE_EMEMORY || rc == TOOLCAGE_EHELPER || !err) {
        toolcage_error_free(err);
        return rc;
    }
    *ret_refusal = sentence(err);
    toolcage_error_free(err);
    return *ret_refusal ? 0 : TOOLCAGE_EMEMORY;
}

/* A wrapped server has no way yet to request an approval. */
bool tc_rules_hide(const struct tc_wrap_tool *tool)
{
    return tool->tier &&
           (strcmp(tool->tier, "HumanApprove") == 0 || strcmp(tool->tier, "ManualOnly") == 0);
}

int tc_rules_check(struct tc_wrap *wrap, const struct tc_wrap_tool *tool, struct tc_slice arguments,
                   char **ret_refusal)
{
    *ret_refusal = NULL;
    if (tc_rules_hide(tool)) {
        if (asprintf(ret_refusal,
                     "denied: the policy requires a person's approval of each call of %s (tier "
                     "%s), which is not supported here yet; do without it",
                     tool->name, tool->tier) < 0)
            *ret_refusal = NULL;
        return *ret_refusal ? 0 : TOOLCAGE_EMEMORY;
    }
    return tool->closed ? check_arguments(wrap, tool, arguments, ret_refusal) : 0;
}

/* ---- lists ---- */

static void put_slice(struct tc_slice slice, FILE *out)
{
    (void)fwrite(slice.at, 1, slice.length, out);
}

static void put_own(const char *key, const char *text, FILE *out)
{
    json_t *string = text ? json_string(text) : NULL;
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        (void)fprintf(out, ",\"%s\":%s", key, quoted);
    free(quoted);
    json_decref(string);
}

/* Writes the server's object, with the title and description replaced if the policy has them. */
static void put_tool(const struct tc_wrap_tool *rule, struct tc_slice tool, struct tc_slice name,
                     FILE *out)
{
    struct tc_scan_each each = tc_scan_walk(tool);
    if (!rule->title && !rule->description) {
        put_slice(tool, out);
        return;
    }
    (void)fputs("{\"name\":", out);
    put_slice(name, out);
    put_own("title", rule->title, out);
    put_own("description", rule->description, out);
    while (tc_scan_next(&each)) {
        if (tc_scan_folds(each.key, "name") || (rule->title && tc_scan_folds(each.key, "title")) ||
            (rule->description && tc_scan_folds(each.key, "description")))
            continue;
        (void)fputc(',', out);
        put_slice(each.key, out);
        (void)fputc(':', out);
        put_slice(each.value, out);
    }
    (void)fputc('}', out);
}

bool tc_rules_filter(const struct tc_wrap *wrap, struct tc_slice tools, FILE *out)
{
    bool *shown = calloc(wrap->tool_count + 1, sizeof(*shown));
    struct tc_scan_each each = tc_scan_walk(tools);
    bool first = true;
    (void)fputc('[', out);
    while (shown && tc_scan_next(&each)) {
        struct tc_slice name;
        const struct tc_wrap_tool *rule = NULL;
        if (tc_scan_is_object(each.value) && tc_scan_member(each.value, "name", &name))
            rule = tc_rules_find(wrap, name);
        if (!rule || tc_rules_hide(rule) || !tc_pin_shows(wrap, rule) || shown[rule - wrap->tools])
            continue;
        shown[rule - wrap->tools] = !is_each(rule);
        (void)fputs(first ? "" : ",", out);
        put_tool(rule, each.value, name, out);
        first = false;
    }
    (void)fputc(']', out);
    bool fine = shown != NULL;
    free(shown);
    return fine;
}
