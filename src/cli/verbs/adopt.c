/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb adopt: puts the MCP servers in agents' settings behind `toolcage wrap`. */
#include <string.h>

#include "cli/adopt/record.h"
#include "cli/adopt/show.h"
#include "cli/adopt/undo.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"

enum { TC_EXIT_NO = 1 };

static const struct tc_option options[] = {
    {"list", 0, NULL, NULL, "only list the servers, and what would be done with each"},
    {"dry-run", 0, NULL, NULL, "show the changes, and write nothing"},
    {"yes", 'y', NULL, NULL, "write without a question, for scripts"},
    {"file", 0, "FILE", NULL, "only this settings file"},
    {"undo", 0, NULL, NULL, "take back what was adopted"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Finds the settings in which agents name their MCP servers (Claude, Codex, Copilot, Cursor, "
    "Gemini,\n"
    "OpenClaw, OpenCode, VS Code, Windsurf, Zed): yours, and those of the project in this "
    "directory. Shows\n"
    "the change that puts each server in a cage, with the policy that it gets, and writes after a "
    "yes.\n"
    "Nothing is run. Comments and formatting stay. Secrets in `env` and `headers` are moved into "
    "files that\n"
    "only you can read. Servers that are already wrapped stay as they are.\n"
    "\n"
    "exit codes: 0 done, or nothing to do; 1 the answer was no; 125 some settings cannot be "
    "changed\n"
    "\n"
    "examples:\n"
    "  toolcage adopt --list\n"
    "  toolcage adopt\n"
    "  toolcage adopt --file ~/.cursor/mcp.json --yes\n"
    "  toolcage adopt --undo\n";

static int write_all(struct tc_adopt_run *run, const struct tc_args *args)
{
    int code = 0;
    for (size_t i = 0; i < run->target_count; i++) {
        struct tc_adopt_target *target = &run->targets[i];
        _autofailure_ struct tc_failure failure = {0};
        _autofree_ char *backup = NULL;
        if (target->failed || !target->adopted)
            continue;
        if (tc_adopt_write(run, target, &backup, &failure)) {
            code = tc_failure_tell(&failure, args, NULL);
            target->failed = true; /* nothing follows for it */
        } else {
            tc_cli_say("%s: %zu %s adopted; the backup is %s/before", target->file.path,
                       target->adopted, target->adopted == 1 ? "server" : "servers", backup);
        }
    }
    int rc = code ? 0 : tc_adopt_print_next(run);
    return code ? code : rc;
}

static int confirm(struct tc_adopt_run *run, const struct tc_args *args)
{
    int yes = tc_args_has(args, "yes") ? 1 : tc_adopt_confirm("write this? y: yes, n: no");
    if (yes > 0)
        return write_all(run, args);
    if (yes == 0) {
        tc_cli_say("nothing was written");
        return TC_EXIT_NO;
    }
    tc_cli_say("there is no terminal to ask at, and nothing was written");
    tc_cli_hint("--yes writes without a question");
    return TC_EXIT_FAILURE;
}

static int run_all(struct tc_adopt_run *run, const struct tc_args *args)
{
    int rc = tc_adopt_print_list(run);
    bool list = tc_args_has(args, "list");
    if (!rc && !list)
        rc = tc_adopt_print_changes(run);
    if (!rc && !list && run->adopted && !tc_args_has(args, "dry-run"))
        rc = confirm(run, args);
    return rc ? rc : run->failed ? TC_EXIT_FAILURE : 0;
}

static int adopt(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_adopt_run run = {0};
    bool dry = tc_args_has(args, "dry-run") || tc_args_has(args, "list");
    _autofd_ int lock = dry ? -1 : tc_adopt_lock(&failure);
    int rc = (!dry && lock < 0) || tc_adopt_collect(&run, tc_args_value(args, "file"), &failure)
                 ? tc_failure_tell(&failure, args, NULL)
                 : run_all(&run, args);
    tc_adopt_run_done(&run);
    return rc;
}

static int run_adopt(const struct tc_args *args)
{
    bool dry = tc_args_has(args, "dry-run") || tc_args_has(args, "list");
    if (tc_args_has(args, "undo"))
        return tc_adopt_undo(args, dry                        ? TC_ADOPT_DRY
                                   : tc_args_has(args, "yes") ? TC_ADOPT_YES
                                                              : TC_ADOPT_ASK);
    return adopt(args);
}

const struct tc_verb tc_verb_adopt = {
    .name = "adopt",
    .operands = "[options]",
    .summary = "put the MCP servers of your agents in cages",
    .text = text,
    .options = options,
    .minor = true,
    .run = run_adopt,
};
