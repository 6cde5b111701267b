/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a model's command in the live session of its agent. */
#include <errno.h>
#include <string.h>

#include "cli/hook/coded.h"
#include "cli/hook/hook.h"
#include "cli/show/say.h"

/* The command in the session, in the directory in which the agent runs it. */
static int run_command(const struct tc_hook_parts *parts, char *session, char *text, char *cwd)
{
    char cwd_option[] = "--cwd", end[] = "--", shell[] = "bash", flag[] = "-c";
    char *words[] = {cwd_option, cwd, session, end, shell, flag, text, NULL};
    struct tc_args args;
    int rc = tc_args_parse(parts->exec, (int)TC_COUNT(words) - 1, words, &args);
    rc = rc ? rc : parts->exec->run(&args);
    tc_args_done(&args);
    return rc;
}

int tc_hook_run(const struct tc_hook_parts *parts, const struct tc_args *args)
{
    _autofree_ char *text = tc_hook_decode(args->operands[1]);
    _autofree_ char *cwd = text ? realpath(".", NULL) : NULL;
    if (cwd)
        return run_command(parts, args->operands[0], text, cwd);
    tc_cli_say("the command cannot be run: %s", strerror(errno));
    tc_cli_hint("a command of toolcage hook runs once; ask for it again");
    return TC_EXIT_FAILURE;
}
