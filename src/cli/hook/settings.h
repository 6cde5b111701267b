/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The hook in an agent's settings. */
#ifndef TC_CLI_HOOK_SETTINGS_H
#define TC_CLI_HOOK_SETTINGS_H

#include "cli/hook/agents.h"
#include "cli/show/opts.h"

/* The file `name`, or the one that `hook install` writes, in the project's directory of the agent
 * or in the user's; owned. NULL: no home directory is known. */
char *tc_hook_settings_path(const struct tc_hook_agent *agent, const char *project,
                            const char *name);
/* The settings with the hook; `command` is its command line. Owned; NULL: they cannot be edited. */
char *tc_hook_settings_add(const struct tc_hook_agent *agent, const char *text, size_t length,
                           const char *command, size_t *ret_length);
/* The settings without any hook of toolcage. */
char *tc_hook_settings_remove(const struct tc_hook_agent *agent, const char *text, size_t length,
                              size_t *ret_length);
/* The command line of the hook, with the options that were given. Owned. */
char *tc_hook_command_line(const struct tc_hook_agent *agent, const struct tc_args *args);

/* What settings say about the hook. */
struct tc_hook_facts {
    bool present;  /* toolcage's hook runs before all tools, as `hook install` writes it */
    bool others;   /* other hooks may change what runs */
    bool disabled; /* hooks, or some of them, are switched off */
    bool sealed; /* Gemini CLI does not read a project's .env; `unsealed`: they say that it does */
    bool unsealed;
    char *line;    /* the hook's command line; owned */
    char *program; /* of the hook; owned */
};

void tc_hook_facts_done(struct tc_hook_facts *facts);
/* False: the settings cannot be read, and nothing is known. */
bool tc_hook_facts(const struct tc_hook_agent *agent, const char *text, size_t length,
                   struct tc_hook_facts *ret);

#endif
