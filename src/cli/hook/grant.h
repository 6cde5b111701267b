/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant of an agent's tools: the policy in the command line of the hook, else the policy that
 * is found from the project, else the shipped profile `coding`. */
#ifndef TC_CLI_HOOK_GRANT_H
#define TC_CLI_HOOK_GRANT_H

#include "cli/hook/agents.h"
#include "cli/hook/hook.h"
#include "cli/show/failure.h"

/* Is the live session of the request there? Else it is started, in the working directory, which is
 * the project. 0, or -1 with *ret_reason, owned: why not, for the model. */
int tc_hook_start(const struct tc_hook_parts *parts, const struct tc_args *args,
                  const struct tc_hook_request *request, char **ret_reason);
/* May a tool of the agent, which runs outside the cage, read or write this path? 0 with *ret_real,
 * owned: the path without links; or -1 with *ret_reason. */
int tc_hook_check_path(const struct tc_args *args, const struct tc_hook_request *request,
                       const char *path, bool write, char **ret_real, char **ret_reason);

#endif
