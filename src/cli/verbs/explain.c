/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant of a tool or a command, as text in columns or as the library's JSON. No tool runs, so
 * an untrusted policy may be explained: that is how one decides whether to trust it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/preset.h"
#include "cli/call/setup.h"
#include "cli/show/answer.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

enum { TC_EXIT_NOT_ALLOWED = 1 };

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_PRESET,
    {"tool", 0, "NAME", NULL, "the tool; without it a command under [defaults]"},
    {"server", 0, "NAME", NULL, "the MCP server; with --tool: one of its tools"},
    {"setup", 0, NULL, NULL, "the install phase of that tool or server"},
    {"arguments", 0, "JSON", NULL, "the arguments that a model would give"},
    TC_OPTION_WORKSPACE,
    {"read", 0, "PATH", NULL, "may it read this path?"},
    {"write", 0, "PATH", NULL, "may it write this path?"},
    {"exec", 0, "PATH", NULL, "may it execute this path?"},
    {"connect", 0, "HOST:PORT|unix:PATH", NULL, "may it reach this endpoint?"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "For an access it prints the key and line that decide, what chose the backend, and what\n"
    "enforces it on this machine.\n\n"
    "exit codes: 0, or 1 when the access asked about is not allowed, or nothing here enforces "
    "it\n\n"
    "examples:\n"
    "  toolcage policy explain --tool list_files\n"
    "  toolcage explain --tool list_files --read /etc/shadow\n"
    "  toolcage policy explain --tool search --arguments '{\"text\": \"x\"}'\n"
    "  toolcage policy explain --server files --tool read_text_file --arguments '{\"path\": "
    "\"/x\"}'\n"
    "  toolcage policy explain --tool python --setup --connect pypi.org:443\n"
    "  toolcage policy explain -- make test\n"
    "  toolcage explain --preset python --write /workspace/out\n";

/* The one question among the options as "read PATH": owned, *ret NULL without one. 0 or the exit
 * code. */
static int question(const struct tc_args *args, char **ret)
{
    static const char *const kinds[] = {"read", "write", "exec", "connect"};
    *ret = NULL;
    for (size_t i = 0; i < TC_COUNT(kinds); i++) {
        const char *value = tc_args_value(args, kinds[i]);
        if (!value)
            continue;
        if (*ret) {
            tc_cli_say("policy explain answers one access at a time");
            tc_cli_hint("ask again for --%s %s", kinds[i], value);
            return TC_EXIT_FAILURE;
        }
        if (asprintf(ret, "%s %s", kinds[i], value) < 0)
            return *ret = NULL, tc_cli_no_memory();
    }
    return 0;
}

static int print_text(const struct tc_setup *setup, const char *access, struct tc_slice grant)
{
    static const char *const skip[] = {"verdict", NULL};
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    bool whole = true;
    if (access) {
        tc_answer_put(out, setup, access, grant);
    } else {
        whole = tc_table_object(out, grant, skip);
    }
    int rc = fclose(out) || !whole ? tc_cli_no_memory() : tc_cli_print_painted(TC_PAINT_ROWS, all);
    free(all);
    return rc;
}

static int print_answer(const struct tc_args *args, const struct tc_setup *setup,
                        const char *access, const char *json)
{
    struct tc_slice grant = tc_json_of(json);
    int rc = tc_args_has(args, "json") ? tc_cli_print(json, strlen(json))
                                       : print_text(setup, access, grant);
    if (!rc && tc_args_has(args, "json"))
        rc = tc_cli_print("\n", 1);
    if (rc || !access)
        return rc;
    return tc_answer_is_yes(grant) ? 0 : TC_EXIT_NOT_ALLOWED;
}

/* An install takes nothing that is said at a call. */
static int check_setup(const struct tc_args *args, const char *tool, struct tc_failure *failure)
{
    static const char how[] = "toolcage explain --tool NAME --setup, or --server NAME --setup";
    bool server_tool = tc_args_value(args, "server") && tc_args_value(args, "tool");
    if (!tool || server_tool)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, how,
                              server_tool ? "a tool of a server has no install phase of its own"
                                          : "--setup needs the tool or server whose install "
                                            "phase is meant");
    if (args->word_count || tc_args_value(args, "arguments") || tc_args_value(args, "workspace"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, how,
                              "an install phase takes no command, no arguments and no workspace");
    return 0;
}

static int open_install(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                        struct tc_failure *failure)
{
    if (check_setup(args, tool, failure) ||
        tc_setup_open(args, tool, TC_LOOKUP_ANY, setup, failure))
        return -1;
    setup->call = toolcage_call_unref(setup->call);
    return toolcage_call_new_setup(setup->engine, setup->found.policy, tool, &setup->call,
                                   tc_failure_error(failure));
}

static int open_call(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                     struct tc_failure *failure)
{
    if (tc_args_has(args, "setup"))
        return open_install(args, tool, setup, failure);
    if (tc_setup_open(args, tool, TC_LOOKUP_ANY, setup, failure))
        return -1;
    return tc_setup_command(setup, args->words, args->word_count, failure);
}

static void say_untrusted(const struct tc_found *found)
{
    _autofree_ char *command = tc_found_trust_command(found);
    tc_cli_say("%s is not trusted: nothing runs under it yet", found->path);
    if (command)
        tc_cli_hint("to trust the policy as it was read: %s", command);
}

static int prepare(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                   struct tc_failure *failure)
{
    const char *arguments = tc_args_value(args, "arguments");
    if (open_call(args, tool, setup, failure))
        return -1;
    if (setup->found.untrusted && !tc_args_has(args, "json"))
        say_untrusted(&setup->found);
    return arguments
               ? toolcage_call_set_arguments_json(setup->call, arguments, tc_failure_error(failure))
               : 0;
}

/* Its grant is another than the tool's. */
static void hint_at_install(const struct tc_args *args, struct tc_slice grant)
{
    const char *server = tc_args_value(args, "server"), *tool = tc_args_value(args, "tool");
    if (tc_scan_is_object(tc_json_get(grant, "setup")))
        tc_cli_hint("the install phase has a grant of its own: toolcage explain --%s %s "
                    "--setup",
                    server ? "server" : "tool", server ? server : tool);
}

static bool has_tool(const struct toolcage_policy *policy, const char *name)
{
    char *json = NULL;
    bool found = false;
    if (toolcage_policy_tools_json(policy, "toolcage", &json, NULL))
        return false;
    struct tc_scan_each each = tc_scan_walk(tc_json_of(json));
    while (!found && tc_scan_next(&each)) {
        _autofree_ char *is = tc_json_text(tc_json_get(each.value, "name"));
        found = is && strcmp(is, name) == 0;
    }
    toolcage_free(json);
    return found;
}

/* A single word that was taken for a command may have meant the tool of that name. */
static void hint_at_tool(const struct tc_args *args, const struct tc_setup *setup)
{
    if (args->word_count == 1 && !tc_args_value(args, "tool") && !tc_args_value(args, "server") &&
        setup->found.path && has_tool(setup->found.policy, args->words[0]))
        tc_cli_hint("this is a command under [defaults]; the tool of that name: toolcage explain "
                    "--tool %s",
                    args->words[0]);
}

/* "server.files.tool.read": owned; NULL: no memory. */
static char *place_of(const char *server, const char *tool)
{
    char *place;
    if (asprintf(&place, "server.%s%s%s", server, tool ? ".tool." : "", tool ? tool : "") < 0)
        return NULL;
    return place;
}

static int run(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *access = NULL;
    const char *tool = tc_args_value(args, "tool"), *server = tc_args_value(args, "server");
    _autofree_ char *place = server ? place_of(server, tool) : NULL;
    char *json = NULL;
    int rc = question(args, &access);
    if (rc || (server && !place))
        return rc ? rc : tc_cli_no_memory();
    tool = server ? place : tool;
    if (prepare(args, tool, &setup, &failure) ||
        toolcage_call_explain_json(setup.call, access, &json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, tool);
    rc = print_answer(args, &setup, access, json);
    if (!access && !tc_args_has(args, "json") && !tc_args_has(args, "setup"))
        hint_at_install(args, tc_json_of(json));
    if (!tc_args_has(args, "json"))
        hint_at_tool(args, &setup);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_explain = {
    .name = "policy explain",
    .alias = "explain",
    .words = "[options] [--tool NAME] [CMD [ARG]...]",
    .summary = "show the grant of a tool or command, or answer one access",
    .text = text,
    .options = options,
    .command = true,
    .most = -1,
    .run = run,
};
