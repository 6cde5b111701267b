/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verbs hook, hook run and hook install. */
#include "cli/hook/hook.h"

static const struct tc_hook_parts parts = {&tc_verb_session_start, &tc_verb_session_exec};

static const struct tc_option options[] = {TC_HOOK_OPTIONS, TC_OPTION_HELP, {0}};
static const struct tc_option run_options[] = {TC_OPTION_HELP, {0}};

static const char text[] =
    "An agent (claude, codex, gemini) starts it before each tool call, by the settings that `hook "
    "install`\n"
    "writes, and it answers on standard output. A shell command is replaced by one that runs in a "
    "live\n"
    "session, which is named after the agent's session and started by its first command. Files "
    "that the\n"
    "agent's own tools name are checked against the same grant. The policy is the one found from "
    "the\n"
    "project, else the profile `coding`. An input that is not understood is refused with exit code "
    "2.\n"
    "\n"
    "examples:\n"
    "  toolcage hook install claude\n"
    "  toolcage hook claude <input.json\n";

static const struct tc_option install_options[] = {
    {"scope", 0, "user|project", NULL,
     "your own settings (the default), or those of this directory"},
    {"remove", 0, NULL, NULL, "remove the hook"},
    {"dry-run", 0, NULL, NULL, "show the change, and write nothing"},
    {"yes", 'y', NULL, NULL, "write without a question, for scripts"},
    TC_HOOK_OPTIONS,
    TC_OPTION_HELP,
    {0},
};

static const char install_text[] =
    "Shows the change of the agent's settings, and writes it after a yes. A backup is kept. "
    "--policy,\n"
    "--preset and --tool choose the grant; without them it is the policy found from the project, "
    "else the\n"
    "profile `coding`.\n"
    "\n"
    "exit codes: 0 done, or nothing to do; 1 the answer was no; 125 the settings cannot be "
    "changed\n"
    "\n"
    "examples:\n"
    "  toolcage hook install claude\n"
    "  toolcage hook install gemini --scope project --policy ~/agents.toml\n"
    "  toolcage hook install claude --remove\n";

static int run_hook(const struct tc_args *args)
{
    return tc_hook_answer(&parts, args);
}

static int run_run(const struct tc_args *args)
{
    return tc_hook_run(&parts, args);
}

const struct tc_verb tc_verb_hook = {
    .name = "hook",
    .operands = "[options] AGENT",
    .summary = "answer an agent's hook: its shell commands run in a cage",
    .text = text,
    .options = options,
    .minor = true,
    .least = 1,
    .most = 1,
    .run = run_hook,
};

const struct tc_verb tc_verb_hook_run = {
    .name = "hook run",
    .operands = "SESSION TEXT",
    .summary = "run a command that a hook has replaced",
    .text = "TEXT is as `toolcage hook` writes it: letters that no shell interprets.\n"
            "\n"
            "examples:\n"
            "  toolcage hook run claude-0123 git+status\n",
    .options = run_options,
    .minor = true,
    .command = true,
    .least = 2,
    .most = 2,
    .run = run_run,
};

const struct tc_verb tc_verb_hook_install = {
    .name = "hook install",
    .operands = "[options] AGENT",
    .summary = "put the shell of an agent in a cage: claude, codex, gemini",
    .text = install_text,
    .options = install_options,
    .minor = true,
    .least = 1,
    .most = 1,
    .run = tc_hook_install,
};
