/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage session ports`: the published ports of a live session. */
#include <stdio.h>
#include <string.h>

#include "cli/live/client.h"
#include "cli/live/ports.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "A published port is a TCP port of the session that programs on this host can connect to.\n"
    "sent and received are bytes, as the session sees them.\n"
    "\n"
    "examples:\n"
    "  toolcage session start --publish 3000 work\n"
    "  toolcage session ports work\n";

static int run_ports(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    const char *name = args->operands[0];
    _autofree_ char *json = tc_client_ports(name, &failure);
    if (!json)
        return tc_failure_tell(&failure, args, NULL);
    if (!tc_args_has(args, "json"))
        return tc_ports_print(name, json);
    _autofree_ char *line = tc_cli_format("%s\n", json);
    return line ? tc_cli_print(line, strlen(line)) : tc_cli_no_memory();
}

const struct tc_verb tc_verb_session_ports = {
    .name = "session ports",
    .operands = "[--json] NAME",
    .summary = "list the published ports of a live session",
    .text = text,
    .options = options,
    .minor = true,
    .least = 1,
    .most = 1,
    .run = run_ports,
};
