/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage version`. */
#include <stdio.h>

#include "cli/show/opts.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_HELP,
    {0},
};

static int run(const struct tc_args *args)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "toolcage %s\n", toolcage_version());
    return tc_cli_print(line, (size_t)length);
}

const struct tc_verb tc_verb_version = {
    .name = "version",
    .words = "",
    .summary = "the version of the library in use",
    .text = "examples:\n  toolcage version\n",
    .options = options,
    .run = run,
};
