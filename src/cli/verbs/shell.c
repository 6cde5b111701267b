/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage shell`: a terminal inside the cage of a tool. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/call/run.h"
#include "cli/show/foreign_options.h"
#include "cli/show/json.h"
#include "cli/show/report.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_PRESET,
    {"tool", 0, "NAME", NULL, "use the cage of this tool instead of [defaults]"},
    {"arguments", 0, "JSON", NULL, "the arguments that a model would give: grants their paths"},
    TC_OPTIONS_NARROWING,
    TC_OPTION_TIMINGS,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "A shell, or CMD, at a terminal inside the cage, under the grant of a call of the tool: same\n"
    "isolation, limits, directory and environment (except TERM). The tool's own command does not "
    "run.\n"
    "The grant's timeout applies; without a policy file it is 1h unless --timeout is set. Ctrl-] "
    "three\n"
    "times within a second ends it.\n"
    "\n"
    "exit codes: as for toolcage exec\n"
    "\n"
    "examples:\n"
    "  toolcage shell\n"
    "  toolcage shell --tool python\n"
    "  toolcage shell --preset node\n"
    "  toolcage shell --tool python --dry-run -- python3\n"
    "  toolcage shell --write ./out -t 10m -- vim out/notes\n";

/* Which shell exists is known only inside the cage. */
static char *const usual[] = {(char *)"/bin/sh", (char *)"-c",
                              (char *)"test -x /bin/bash && exec /bin/bash; exec /bin/sh", NULL};

static int usage_of_shell(const struct tc_args *args)
{
    if (!tc_terminal_is_one()) {
        tc_cli_say("shell: standard input and output are not a terminal");
        tc_cli_hint("toolcage exec CMD runs a command without one");
        return TC_EXIT_FAILURE;
    }
    return tc_foreign_values(args);
}

static int prepare_shell(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                         struct tc_failure *failure)
{
    const char *arguments = tc_args_value(args, "arguments");
    struct toolcage_error **err = tc_failure_error(failure);
    bool given = args->operand_count > 0;
    if (tc_setup_open(args, tool, TC_LOOKUP_TRUSTED, setup, failure) ||
        tc_setup_command(setup, given ? args->operands : usual,
                         given ? args->operand_count : TC_COUNT(usual) - 1, failure))
        return -1;
    /* an interactive session needs more time than the default timeout */
    if (!setup->found.path && !tc_args_has(args, "timeout") &&
        toolcage_call_set(setup->call, "timeout", "1h", err))
        return -1;
    if (arguments && toolcage_call_set_arguments_json(setup->call, arguments, err))
        return -1;
    return toolcage_call_set_terminal(setup->call, 24, 80, err);
}

/* The writable paths of the grant, or "nothing". */
static char *writable(struct tc_slice grant)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(grant, "filesystem"));
    bool any = false;
    if (!out)
        return NULL;
    while (tc_scan_next(&each)) {
        _autofree_ char *access = tc_json_text(tc_json_get(each.value, "access"));
        _autofree_ char *path = tc_json_text(tc_json_get(each.value, "path"));
        if (!access || !path || strcmp(access, "write") != 0)
            continue;
        (void)fprintf(out, "%s%s", any ? ", " : "", path);
        any = true;
    }
    if (!any)
        (void)fputs("nothing but /tmp", out);
    return fclose(out) ? NULL : all;
}

/* Prints one line about the grant. */
static int print_bounds(const struct tc_setup *setup, const char *tool, struct tc_failure *failure)
{
    char *json = NULL;
    if (toolcage_call_explain_json(setup->call, NULL, &json, tc_failure_error(failure)))
        return -1;
    struct tc_slice grant = tc_json_of(json);
    _autofree_ char *backend = tc_json_text(tc_json_get(grant, "backend"));
    struct tc_slice timeout = tc_json_get(tc_json_get(grant, "limits"), "timeout");
    _autofree_ char *time = tc_json_text(tc_json_get(timeout, "value"));
    struct tc_scan_each network = tc_scan_walk(tc_json_get(grant, "network"));
    _autofree_ char *paths = writable(grant);
    tc_cli_say(
        "%s%s, backend %s, ends after %s; network: %s; writable: %s; Ctrl-] three times ends "
        "it",
        tool ? "cage of the tool " : "cage of a bare command", tool ? tool : "",
        backend ? backend : "?", time && *time ? time : "no time",
        tc_scan_next(&network) ? "as granted" : "none", paths ? paths : "?");
    toolcage_free(json);
    return 0;
}

static int finish_shell(const struct tc_setup *setup, const struct tc_args *args, int signal_number)
{
    const struct toolcage_result *result = toolcage_call_result(setup->call);
    tc_report(result, args, &setup->found);
    tc_report_notice(result);
    int rc = tc_changes_ask(setup->engine, result, NULL);
    if (tc_args_has(args, "timings"))
        tc_report_timings(result, setup);
    if (signal_number && toolcage_result_status(result) == TOOLCAGE_STATUS_CANCELLED)
        return TC_EXIT_SIGNAL + signal_number;
    return rc ? rc : toolcage_result_shell_code(result);
}

static int run_shell(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    const char *tool = tc_args_value(args, "tool");
    int signal_number = 0, rc = usage_of_shell(args);
    if (rc)
        return rc;
    if (prepare_shell(args, tool, &setup, &failure) || print_bounds(&setup, tool, &failure) ||
        tc_terminal_run(setup.call, &signal_number, &failure))
        return tc_failure_tell(&failure, args, tool);
    return finish_shell(&setup, args, signal_number);
}

const struct tc_verb tc_verb_shell = {
    .name = "shell",
    .operands = "[options] [--] [CMD [ARG]...]",
    .summary = "look around inside a tool's cage, at a terminal",
    .text = text,
    .options = options,
    .command = true,
    .least = 0,
    .most = -1,
    .run = run_shell,
};
