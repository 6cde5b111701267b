/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage session logs`, `attach`, `wait` and `signal`: detached commands of a live session. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/live/client.h"
#include "cli/live/wire.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

static const struct tc_option logs_options[] = {
    {"follow", 'f', NULL, NULL, "show later output, too, until the command has ended"},
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option wait_options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option plain_options[] = {
    TC_OPTION_HELP,
    {0},
};

static int say_none(const char *name)
{
    tc_cli_say("there is no live session %s, or it does not answer", name);
    tc_cli_hint("toolcage session list");
    return TC_EXIT_FAILURE;
}

static int list_detached(const char *name)
{
    _autofree_ char *info = tc_client_info(name);
    if (!info)
        return say_none(name);
    char *text = NULL;
    size_t size, count = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(info), "detached"));
    for (; tc_scan_next(&each); count++) {
        _autofree_ char *command = tc_json_line(tc_json_get(each.value, "command"));
        char state[32] = "running";
        if (!tc_json_true(tc_json_get(each.value, "running")))
            (void)snprintf(state, sizeof(state), "exit %" PRId64,
                           tc_json_int(tc_json_get(each.value, "exit_code"), TC_EXIT_FAILURE));
        if (!count)
            (void)fprintf(out, "%4s  %-8s  %s\n", "id", "state", "command");
        (void)fprintf(out, "%4" PRId64 "  %-8s  %s\n",
                      tc_json_int(tc_json_get(each.value, "id"), 0), state,
                      command ? command : "?");
    }
    int rc = tc_cli_print_text(TC_PAINT_ROWS, out, &text);
    if (!rc && !count)
        tc_cli_hint("there is no detached command; toolcage session exec --detach %s -- CMD", name);
    return rc;
}

static int run_logs(const struct tc_args *args)
{
    const char *name = args->operands[0];
    if (args->operand_count == 1)
        return list_detached(name);
    return tc_client_ask(args, name, tc_args_has(args, "follow") ? TC_WIRE_FOLLOW : TC_WIRE_LOGS,
                         args->operands[1]);
}

const struct tc_verb tc_verb_session_logs = {
    .name = "session logs",
    .operands = "[--follow] NAME [ID]",
    .summary = "the output of a detached command, or the list of them",
    .text = "The newest 2 MiB of the output that --output of the command allows are kept.\n"
            "\n"
            "examples:\n"
            "  toolcage session exec --detach work -- make test\n"
            "  toolcage session logs work\n"
            "  toolcage session logs --follow work 1\n",
    .options = logs_options,
    .minor = true,
    .least = 1,
    .most = 2,
    .run = run_logs,
};

static int run_attach(const struct tc_args *args)
{
    return tc_client_ask(args, args->operands[0], TC_WIRE_ATTACH, args->operands[1]);
}

const struct tc_verb tc_verb_session_attach = {
    .name = "session attach",
    .operands = "NAME ID",
    .summary = "show a detached command as if it had not been detached",
    .text = "Shows its output from the beginning and ends with its exit code. Ctrl-C ends the "
            "command.\n"
            "\n"
            "examples:\n"
            "  toolcage session attach work 1\n",
    .options = plain_options,
    .minor = true,
    .least = 2,
    .most = 2,
    .run = run_attach,
};

static int run_wait(const struct tc_args *args)
{
    return tc_client_ask(args, args->operands[0], TC_WIRE_WAIT,
                         args->operand_count > 1 ? args->operands[1] : "");
}

const struct tc_verb tc_verb_session_wait = {
    .name = "session wait",
    .operands = "[--json] NAME [ID]",
    .summary = "wait for a detached command, or for all",
    .text = "With an ID: the command's exit code; --json prints its result. Without: a line "
            "\"ID CODE\" for each\n"
            "command that is known, and the first exit code that is not 0.\n"
            "\n"
            "examples:\n"
            "  toolcage session wait work 1\n"
            "  toolcage session wait work\n",
    .options = wait_options,
    .minor = true,
    .least = 1,
    .most = 2,
    .run = run_wait,
};

/* A name with or without SIG, or a number; 0: none. */
static int read_signal(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},  {"KILL", SIGKILL},
                 {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM},  {"TERM", SIGTERM},
                 {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"WINCH", SIGWINCH}};
    char *end;
    long number = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end)
        return number > 0 && number <= 64 ? (int)number : 0;
    text += strncasecmp(text, "SIG", 3) ? 0 : 3;
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (!strcasecmp(text, names[i].name))
            return names[i].number;
    return 0;
}

static int run_signal(const struct tc_args *args)
{
    int number = read_signal(args->operands[2]);
    if (!number) {
        tc_cli_say("session signal: %s is not a signal", args->operands[2]);
        tc_cli_hint("write TERM, INT, HUP, KILL, QUIT, USR1, USR2, ALRM, CONT, STOP, WINCH or a "
                    "number from 1 to 64");
        return TC_EXIT_FAILURE;
    }
    _autofree_ char *text = tc_cli_format("%s %d", args->operands[1], number);
    return text ? tc_client_ask(args, args->operands[0], TC_WIRE_SIGNAL, text) : tc_cli_no_memory();
}

const struct tc_verb tc_verb_session_signal = {
    .name = "session signal",
    .operands = "NAME ID SIGNAL",
    .summary = "send a signal to a detached command",
    .text = "Its processes receive it: its terminal session, and the descendants whose parents "
            "are alive.\n"
            "\n"
            "examples:\n"
            "  toolcage session signal work 1 TERM\n"
            "  toolcage session signal work 1 USR1\n",
    .options = plain_options,
    .minor = true,
    .least = 3,
    .most = 3,
    .run = run_signal,
};
