/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage policy import`: converts the settings of other sandboxes to a policy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/failure.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "import/import.h"

enum { TC_EXIT_LEFT_OUT = 1, BYTES_MAX = 1 << 20 };

static const struct tc_option options[] = {
    TC_OPTION_HELP,
    {0},
};

static char *read_settings(const char *path, size_t *ret_length, struct tc_failure *failure)
{
    char *text = tc_cli_read_input(path, BYTES_MAX, ret_length);
    if (!text)
        (void)tc_failure_set(
            failure, TOOLCAGE_ESYSTEM, "give the path of a file that you can read, at most 1 MiB",
            "cannot read %s: %s", strcmp(path, "-") ? path : "standard input", strerror(errno));
    return text;
}

static int say_left(const char *left)
{
    int count = 0;
    struct tc_scan_each each = tc_scan_walk(tc_json_of(left));
    for (; tc_scan_next(&each); count++) {
        _autofree_ char *text = tc_json_text(each.value);
        tc_cli_say("left out: %s", text ? text : "?");
    }
    return count ? TC_EXIT_LEFT_OUT : 0;
}

/* Compiles the generated text, to ensure that it is a valid policy. */
static int check_policy(const char *text, struct tc_failure *failure)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *why = NULL;
    int rc = toolcage_policy_load_buffer(text, strlen(text), "import.toml", &policy, &why);
    toolcage_policy_unref(policy);
    if (rc != TOOLCAGE_EPOLICY) {
        failure->error = why;
        return rc;
    }
    (void)tc_failure_set(failure, rc, "remove it from the file, and write it by hand",
                         "something in the file cannot become a policy: %.300s",
                         toolcage_error_message(why));
    toolcage_error_free(why);
    return rc;
}

static int import(const char *format, const char *settings, size_t length, char **ret_text,
                  char **ret_left, struct tc_failure *failure)
{
    _autofree_ char *cwd = getcwd(NULL, 0);
    const char *home = secure_getenv("HOME");
    struct tc_import_facts facts = {.cwd = cwd, .home = home && home[0] == '/' ? home : NULL};
    struct tc_import_fault fault;
    if (!cwd || cwd[0] != '/')
        return tc_failure_set(failure, TOOLCAGE_EPATH, "change to a directory that exists",
                              "the working directory has no name");
    int rc = tc_import_settings(format, settings, length, &facts, ret_text, ret_left, &fault);
    if (rc)
        return tc_failure_set(failure, rc, fault.hint, "%s",
                              *fault.text ? fault.text : "out of memory");
    return check_policy(*ret_text, failure);
}

static int run_policy_import(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *policy = NULL, *left = NULL;
    size_t length;
    _autofree_ char *text = read_settings(args->operands[1], &length, &failure);
    if (!text || import(args->operands[0], text, length, &policy, &left, &failure)) {
        (void)tc_failure_tell(&failure, args, NULL);
        return TC_EXIT_FAILURE;
    }
    int rc = tc_cli_print(policy, strlen(policy));
    return rc ? rc : say_left(left);
}

const struct tc_verb tc_verb_policy_import = {
    .name = "policy import",
    .operands = "srt|vscode FILE",
    .summary = "a policy from the settings of another sandbox",
    .text = "srt: the settings of Anthropic's sandbox-runtime. vscode: mcp.json or settings.json "
            "of Visual\n"
            "Studio Code. The policy goes to standard output and grants at most what the settings "
            "grant;\n"
            "settings without an equivalent are listed in the policy and on standard error. FILE - "
            "is standard\n"
            "input.\n"
            "\n"
            "exit codes: 0 complete, 1 something was left out, 125 the file cannot be read\n"
            "\n"
            "examples:\n"
            "  toolcage policy import srt ~/.srt-settings.json > toolcage.toml\n"
            "  toolcage policy import vscode .vscode/mcp.json > toolcage.toml\n"
            "  toolcage policy import srt ~/.srt-settings.json | toolcage policy check -\n",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run_policy_import,
};
