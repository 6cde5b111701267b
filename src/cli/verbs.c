/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table of verbs, and the verb version. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/show/opts.h"
#include "cli/show/say.h"

static const struct tc_option version_options[] = {
    TC_OPTION_HELP,
    {0},
};

static int print_version(const struct tc_args *args)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "toolcage %s\n", toolcage_version());
    return tc_cli_print(line, (size_t)length);
}

const struct tc_verb tc_verb_version = {
    .name = "version",
    .operands = "",
    .summary = "the version of the library in use",
    .text = "examples:\n  toolcage version\n",
    .options = version_options,
    .minor = true, /* --version does the same */
    .run = print_version,
};

/* clang-format off */
static const struct tc_verb *const verbs[] = {
    &tc_verb_exec, &tc_verb_call, &tc_verb_shell, &tc_verb_session_start, &tc_verb_session_exec,
    &tc_verb_session_logs, &tc_verb_session_attach, &tc_verb_session_wait, &tc_verb_session_signal,
    &tc_verb_session_put, &tc_verb_session_get, &tc_verb_session_ls, &tc_verb_session_stat,
    &tc_verb_session_rm, &tc_verb_session_ports, &tc_verb_session, &tc_verb_tools,

    &tc_verb_init, &tc_verb_learn, &tc_verb_allow,
    &tc_verb_policy_check, &tc_verb_policy_explain, &tc_verb_policy_test, &tc_verb_policy_trust,
    &tc_verb_policy_digest, &tc_verb_policy_schema, &tc_verb_policy_diff, &tc_verb_policy_import,

    &tc_verb_changes, &tc_verb_approvals, &tc_verb_pins, &tc_verb_audit,
    &tc_verb_receipt_verify, &tc_verb_receipt_key, &tc_verb_receipt,

    &tc_verb_mcp, &tc_verb_wrap, &tc_verb_serve, &tc_verb_adopt, &tc_verb_hook_install, &tc_verb_hook_run, &tc_verb_hook,
    &tc_verb_agent, &tc_verb_egress,

    &tc_verb_doctor, &tc_verb_setup,
    &tc_verb_image_build, &tc_verb_image_import, &tc_verb_image_list, &tc_verb_image_inspect,
    &tc_verb_image_remove,
    &tc_verb_wasm_install, &tc_verb_wasm_compile, &tc_verb_wasm_inspect, &tc_verb_wasm_list,
    &tc_verb_completion, &tc_verb_version,
};
/* clang-format on */

static const struct {
    const struct tc_verb *first;
    const char *title;
} sections[] = {
    {&tc_verb_exec, "run"},    {&tc_verb_init, "policy"},    {&tc_verb_changes, "review"},
    {&tc_verb_mcp, "connect"}, {&tc_verb_doctor, "machine"},
};

const struct tc_verb *tc_verb_at(size_t index)
{
    return index < TC_COUNT(verbs) ? verbs[index] : NULL;
}

const char *tc_verb_section(const struct tc_verb *verb)
{
    for (size_t i = 0; i < TC_COUNT(sections); i++)
        if (sections[i].first == verb)
            return sections[i].title;
    return NULL;
}

/* The number of words of argv that name the verb; 0: a different verb. */
static int matches(const struct tc_verb *verb, int argc, char **argv)
{
    const char *space = strchr(verb->name, ' ');
    if (verb->alias && !strcmp(argv[0], verb->alias))
        return 1;
    if (!space)
        return !strcmp(argv[0], verb->name);
    size_t length = (size_t)(space - verb->name);
    return argc > 1 && strlen(argv[0]) == length && !memcmp(argv[0], verb->name, length) &&
                   !strcmp(argv[1], space + 1)
               ? 2
               : 0;
}

const struct tc_verb *tc_verb_find(int argc, char **argv, int *ret_words)
{
    *ret_words = 0;
    for (size_t i = 0; argc > 0 && i < TC_COUNT(verbs); i++) {
        *ret_words = matches(verbs[i], argc, argv);
        if (*ret_words)
            return verbs[i];
    }
    return NULL;
}
