/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage hook`: agents' own shells and file tools under a policy. An agent runs its hook before
 * each tool call; the hook's answer replaces a shell command by one that runs in a live session,
 * and refuses paths outside the grant. */
#ifndef TC_CLI_HOOK_HOOK_H
#define TC_CLI_HOOK_HOOK_H

#include "cli/show/opts.h"

/* The verbs of live sessions. */
struct tc_hook_parts {
    const struct tc_verb *start, *exec;
};

/* clang-format off */
#define TC_HOOK_OPTIONS                                                                             \
    {"policy", 0, "FILE", NULL, "the policy file, instead of the one found"},                        \
    {"preset", 0, "PROFILE", NULL, "the grant of a shipped profile"},                                \
    {"tool", 0, "NAME", NULL, "run under the grant of this tool instead of [defaults]"}
/* clang-format on */

/* `toolcage hook AGENT`: answers on standard output. The exit code; the agent must not run the tool
 * unless it is 0. */
int tc_hook_answer(const struct tc_hook_parts *parts, const struct tc_args *args);
/* `toolcage hook run SESSION TEXT`: what the answer makes of a command. */
int tc_hook_run(const struct tc_hook_parts *parts, const struct tc_args *args);
/* `toolcage hook install AGENT`. */
int tc_hook_install(const struct tc_args *args);
/* `toolcage doctor --agents`. */
int tc_hook_doctor(const struct tc_args *args);

#endif
