/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage tools`: lists the tools that a policy offers to a model. */
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    {"format", 0, "text|openai|anthropic|mcp", NULL,
     "for a person (default), or as a model's API wants them"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] = "examples:\n"
                           "  toolcage tools\n"
                           "  toolcage tools --format openai > tools.json\n";

/* name(argument, optional?, ...) */
static char *signature(struct tc_slice tool)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    _autofree_ char *name = tc_json_line(tc_json_get(tool, "name"));
    (void)fprintf(out, "%s(", name ? name : "?");
    struct tc_slice schema = tc_json_get(tool, "input_schema");
    struct tc_scan_each each = tc_scan_walk(tc_json_get(schema, "properties"));
    for (const char *comma = ""; tc_scan_next(&each); comma = ", ") {
        _autofree_ char *argument = tc_json_line(each.key);
        bool required = false;
        struct tc_scan_each names = tc_scan_walk(tc_json_get(schema, "required"));
        while (argument && tc_scan_next(&names))
            required |= tc_scan_is(names.value, argument);
        (void)fprintf(out, "%s%s%s", comma, argument ? argument : "?", required ? "" : "?");
    }
    (void)fputc(')', out);
    return tc_cli_text(out, &line);
}

/* Indents every line, so that none can imitate a tool's line. */
static void put_description(FILE *out, const char *words)
{
    for (const char *line = words; line && *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        (void)fprintf(out, "    %.*s\n", (int)length, line);
        line += length;
    }
}

static void put_tool(FILE *out, struct tc_slice tool)
{
    _autofree_ char *what = signature(tool);
    _autofree_ char *tier = tc_json_text(tc_json_get(tool, "tier"));
    _autofree_ char *backend = tc_json_text(tc_json_get(tool, "backend"));
    _autofree_ char *description = tc_json_text(tc_json_get(tool, "description"));
    (void)fprintf(out, "%-28s %s%s%s\n", what ? what : "?", backend ? backend : "",
                  tier ? ", " : "", tier ? tier : "");
    put_description(out, description);
}

static int print_text(const char *json)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    for (struct tc_scan_each each = tc_scan_walk(tc_json_of(json)); tc_scan_next(&each);)
        put_tool(out, each.value);
    return tc_cli_print_text(TC_PAINT_ROWS, out, &all);
}

static int print_tools(const struct toolcage_policy *policy, const char *format,
                       struct tc_failure *failure)
{
    bool as_text = !strcmp(format, "text");
    char *json = NULL;
    if (toolcage_policy_tools_json(policy, as_text ? "toolcage" : format, &json,
                                   tc_failure_error(failure)))
        return -1;
    size_t length = strlen(json);
    int rc = as_text ? print_text(json) : tc_cli_print(json, length);
    if (!rc && !as_text && (!length || json[length - 1] != '\n'))
        rc = tc_cli_print("\n", 1);
    toolcage_free(json);
    return rc;
}

static int run_tools(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    const char *format = tc_args_value(args, "format");
    if (!format)
        format = "text";
    if (strcmp(format, "text") != 0 && strcmp(format, "openai") != 0 &&
        strcmp(format, "anthropic") != 0 && strcmp(format, "mcp") != 0) {
        tc_cli_say("--format is text, openai, anthropic or mcp, not %s", format);
        tc_cli_hint("toolcage tools --help has examples");
        return TC_EXIT_FAILURE;
    }
    if (tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure))
        return tc_failure_tell(&failure, args, NULL);
    if (!found.path && !strcmp(format, "text")) {
        tc_cli_say("no policy here, so no tools");
        tc_cli_hint("toolcage init writes a starter policy; --policy FILE names another");
    }
    int rc = print_tools(found.policy, format, &failure);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}

const struct tc_verb tc_verb_tools = {
    .name = "tools",
    .operands = "[options]",
    .summary = "list the tools of the policy, for a person or a model's API",
    .text = text,
    .options = options,
    .run = run_tools,
};
