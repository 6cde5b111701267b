/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a model's command in the live session of its agent. */
#include <errno.h>
#include <string.h>

#include "cli/hook/agents.h"
#include "cli/hook/coded.h"
#include "cli/hook/hook.h"
#include "cli/show/say.h"
#include "text/shell.h"

/* The text in the directory in which the agent runs it. Where `cd` holds for the agent's next
 * command, the shell stays where the last one left it until the agent itself moves. */
static char *in_directory(const struct tc_hook_agent *agent, const char *text, const char *cwd)
{
    _autofree_ char *to = tc_shell_quote(cwd);
    if (!to)
        return NULL;
    _autofree_ char *unless =
        agent->cd_stays ? tc_cli_format("[ \"${" TC_HOOK_DIR "-}\" = %s ] || ", to) : strdup("");
    return unless ? tc_cli_format("%scommand cd -- %s || exit; export " TC_HOOK_DIR "=%s; %s",
                                  unless, to, to, text)
                  : NULL;
}

static int run_command(const struct tc_hook_parts *parts, char *session, char *text)
{
    char option[] = "--shell", end[] = "--";
    char *words[] = {option, session, end, text, NULL};
    struct tc_args args;
    int rc = tc_args_parse(parts->exec, (int)TC_COUNT(words) - 1, words, &args);
    rc = rc ? rc : parts->exec->run(&args);
    tc_args_done(&args);
    return rc;
}

int tc_hook_run(const struct tc_hook_parts *parts, const struct tc_args *args)
{
    char *session = args->operands[0];
    _autofree_ char *name = strndup(session, strcspn(session, "-"));
    const struct tc_hook_agent *agent = name ? tc_hook_agent_find(name) : NULL;
    errno = EINVAL;
    _autofree_ char *text = agent ? tc_hook_decode(args->operands[1]) : NULL;
    _autofree_ char *cwd = text ? realpath(".", NULL) : NULL;
    _autofree_ char *whole = cwd ? in_directory(agent, text, cwd) : NULL;
    if (whole)
        return run_command(parts, session, whole);
    tc_cli_say("the command cannot be run: %s", strerror(errno));
    tc_cli_hint("a command of toolcage hook runs once; ask for it again");
    return TC_EXIT_FAILURE;
}
