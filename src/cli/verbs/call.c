/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage call`: calls a registered tool in the same way as a model does. */
#include <errno.h>
#include <string.h>

#include "cli/call/run.h"
#include "cli/show/foreign_options.h"
#include "cli/show/io.h"
#include "cli/show/say.h"

enum { ARGUMENTS_MAX = 4 << 20 };

static const struct tc_option options[] = {
    TC_OPTION_POLICY,  TC_OPTIONS_NARROWING,
    TC_OPTION_SESSION, TC_OPTION_QUEUE,
    TC_OPTION_NOTIFY,  TC_OPTION_OUTPUT_DIR,
    TC_OPTION_JSON,    TC_OPTION_TIMINGS,
    TC_OPTION_HELP,    {0},
};

static const char text[] = "Runs the command that the policy registered for TOOL, as a model "
                           "would call it. ARGUMENTS is a JSON\n"
                           "object, - reads it from standard input, @FILE from a file. Options "
                           "can only narrow the grant.\n"
                           "\n"
                           "exit codes: as for toolcage exec\n"
                           "\n"
                           "examples:\n"
                           "  toolcage call list_files\n"
                           "  toolcage call python '{\"code\": \"print(6 * 7)\"}'\n"
                           "  toolcage call python --json @arguments.json\n"
                           "  toolcage call python --session work @arguments.json\n";

static const char how[] = "arguments are JSON, @FILE, or - for standard input";

static char *arguments(const char *word, struct tc_failure *failure)
{
    bool typed = word[0] != '@' && strcmp(word, "-") != 0;
    const char *path = word + (word[0] == '@'), *name = word[0] == '@' ? path : "standard input";
    size_t length;
    char *json = typed ? strdup(word) : tc_cli_read_input(path, ARGUMENTS_MAX, &length);
    if (typed || (json && strlen(json) == length))
        return json;
    if (json || errno == EFBIG)
        (void)tc_failure_set(failure, TOOLCAGE_EARGUMENTS, "give one JSON object of at most 4 MiB",
                             "the arguments in %s %s", name,
                             json ? "are not UTF-8" : "are too large");
    else if (errno != ENOMEM)
        (void)tc_failure_set(failure, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM, how,
                             "cannot read the arguments from %s: %s", name, strerror(errno));
    free(json);
    return NULL;
}

static int prepare_call(const struct tc_args *args, struct tc_setup *setup,
                        struct tc_failure *failure)
{
    if (tc_setup_open(args, args->operands[0], TC_LOOKUP_TRUSTED, setup, failure))
        return -1;
    if (args->operand_count < 2)
        return 0;
    _autofree_ char *json = arguments(args->operands[1], failure);
    if (!json)
        return failure->message ? -1
                                : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return toolcage_call_set_arguments_json(setup->call, json, tc_failure_error(failure));
}

static int run_call(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    int rc = tc_foreign_values(args);
    if (rc)
        return rc;
    if (prepare_call(args, &setup, &failure))
        return tc_failure_tell(&failure, args, args->operands[0]);
    return tc_run(&setup, args, args->operands[0], false);
}

const struct tc_verb tc_verb_call = {
    .name = "call",
    .operands = "[options] TOOL [ARGUMENTS]",
    .summary = "call a tool of the policy, as a model would",
    .text = text,
    .options = options,
    .least = 1,
    .most = 2,
    .run = run_call,
};
