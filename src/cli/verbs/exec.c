/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage exec`: one command in a cage. */
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/call/run.h"
#include "cli/show/foreign_options.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_PRESET,
    {"tool", 0, "NAME", NULL, "run under the grant of this tool instead of [defaults]"},
    TC_OPTIONS_NARROWING,
    TC_OPTION_SESSION,
    TC_OPTION_QUEUE,
    TC_OPTION_NOTIFY,
    TC_OPTION_OUTPUT_DIR,
    TC_OPTION_STDIN,
    TC_OPTION_JSON,
    TC_OPTION_TIMINGS,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "The first argument that is not an option starts the command. Without a policy file the "
    "tool may\n"
    "read this directory, write only a private /tmp, and reach no network; --read, --write and "
    "--network\n"
    "grant more, also to a preset. With a policy file, options can only narrow the grant.\n"
    "Without a policy file, the timeout is 30s, or 10m at a terminal; --timeout changes it.\n"
    "\n"
    "exit codes: the tool's own; 124 timeout; 125 toolcage failed; 126 denied, or not "
    "executable;\n"
    "127 not found in the cage; 128+N signal N ended it (137 also for a limit)\n"
    "\n"
    "examples:\n"
    "  toolcage exec ls -l\n"
    "  toolcage exec --write ./out -m 1GiB -t 5m make test\n"
    "  toolcage exec --read ./data python3 - < script.py\n"
    "  toolcage exec --preset build make test\n"
    "  toolcage exec --session work sh -c 'echo kept > /tmp/note'\n"
    "  toolcage exec --json --tool python python3 -c 'print(6 * 7)'\n";

static int usage_of_exec(const struct tc_args *args)
{
    if (!args->operand_count) {
        const char *tool = tc_args_value(args, "tool");
        tc_cli_say("exec: no command given");
        if (tool)
            tc_cli_hint("toolcage call %s runs the tool's own command", tool);
        else
            tc_cli_hint("toolcage exec ls -l; toolcage exec --help has more examples");
        return TC_EXIT_FAILURE;
    }
    return tc_foreign_values(args);
}

/* A person at a terminal expects builds to take longer than 30 seconds, and can interrupt the call.
 * */
static int take_time(struct tc_setup *setup, const struct tc_args *args, struct tc_failure *failure)
{
    if (setup->found.path || tc_args_has(args, "timeout") || tc_args_has(args, "json") ||
        !tc_terminal_is_one())
        return 0;
    return toolcage_call_set(setup->call, "timeout", "10m", tc_failure_error(failure));
}

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

/* A call's tool has no terminal, and reads none unless told to. Without arguments, these programs
 * need one. */
static void hint_at_shell(const struct tc_args *args)
{
    static const char *const interactive[] = {"bash", "sh",  "zsh",  "fish", "python3", "python",
                                              "node", "irb", "psql", "vi",   "vim",     "nano",
                                              "less", "top", "htop", NULL};
    static const char *const readers[] = {"cat",   "sort", "wc",        "tee",    "tr",
                                          "xargs", "bc",   "sha256sum", "base64", NULL};
    const char *slash = strrchr(args->operands[0], '/'),
               *name = slash ? slash + 1 : args->operands[0];
    if (args->operand_count != 1 || tc_args_has(args, "json") || !tc_terminal_is_one())
        return;
    if (is_one_of(interactive, name))
        tc_cli_hint("%s has no terminal here; `toolcage shell %s` gives it one", name,
                    args->operands[0]);
    else if (is_one_of(readers, name) && !tc_args_has(args, "stdin"))
        tc_cli_hint("%s gets no input from a terminal; --stdin pass passes what is typed", name);
}

static int run_exec(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    const char *tool = tc_args_value(args, "tool");
    bool input = false;
    int rc = usage_of_exec(args);
    if (!rc)
        rc = tc_input_choose(args, &input);
    if (rc)
        return rc;
    if (tc_setup_open(args, tool, TC_LOOKUP_TRUSTED, &setup, &failure) ||
        tc_setup_command(&setup, args->operands, args->operand_count, &failure) ||
        take_time(&setup, args, &failure))
        return tc_failure_tell(&failure, args, tool);
    if (!tool && setup.found.path && !setup.found.preset && !tc_args_has(args, "json"))
        tc_cli_say("no --tool: running under [defaults] of %s", setup.found.path);
    hint_at_shell(args);
    return tc_run(&setup, args, tool, input);
}

const struct tc_verb tc_verb_exec = {
    .name = "exec",
    .alias = "run",
    .operands = "[options] [--] CMD [ARG]...",
    .summary = "run a command in a cage",
    .text = text,
    .options = options,
    .command = true,
    .least = 0,
    .most = -1,
    .run = run_exec,
};
