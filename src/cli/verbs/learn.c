/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage learn`: runs a command, and writes the least policy that allows what it touched. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/dangers.h"
#include "cli/call/run.h"
#include "cli/call/trial.h"
#include "cli/call/trust.h"
#include "cli/show/habits.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    {"name", 0, "NAME", NULL, "the name of the learned tool (default: as its command)"},
    {"allow-all", 0, NULL, NULL,
     "it may read all but /etc and credentials, and write this directory"},
    TC_OPTIONS_NARROWING,
    {"stdin", 0, "pass|none", NULL, "whether the tool reads your standard input (default: pass)"},
    {"no-trial", 0, NULL, NULL, "do not run it once more under what was learned"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Runs the command in a cage, lists what it touches, and prints the least policy that allows "
    "that.\n"
    "The command's own output goes to standard error, so that the policy can be redirected. The "
    "grant\n"
    "is the default one (read this directory, write nothing), whatever policy file is here; "
    "--read,\n"
    "--write and --allow-all add to it. What was refused stands in the policy as a comment: run "
    "again\n"
    "with more, or add it by hand. Then it runs once more under that policy, without input, and "
    "nothing\n"
    "of that reaches this machine: what is missing is said. Nothing is trusted before you say so.\n"
    "\n"
    "exit codes: those of exec; 1 also when the policy was found to lack something\n"
    "\n"
    "examples:\n"
    "  toolcage learn --write . make > toolcage.toml\n"
    "  toolcage learn --read ~/venv -e PYTHONPATH=src -- ~/venv/bin/python test.py > "
    "toolcage.toml\n"
    "  toolcage learn --allow-all --name report -- python3 report.py > toolcage.toml\n"
    "  toolcage policy trust toolcage.toml && toolcage call make\n";

/* Views of the kernel, what the cage has of its own or shows anyway, and the machine's
 * configuration, in which keys lie beside what everybody may know. */
static bool is_special(const char *name)
{
    static const char *const names[] = {"proc", "sys", "dev", "run", "tmp", "mnt", "etc", "usr"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return name[0] == '.';
}

static int allow(struct toolcage_call *call, const char *key, const char *path,
                 struct tc_failure *failure)
{
    return toolcage_call_set(call, key, path, tc_failure_error(failure));
}

static int allow_roots(struct toolcage_call *call, DIR *root, struct tc_failure *failure)
{
    for (struct dirent *e; (e = readdir(root));) {
        char path[NAME_MAX + 2];
        struct stat st;
        (void)snprintf(path, sizeof(path), "/%s", e->d_name);
        if (is_special(e->d_name) || lstat(path, &st) || !S_ISDIR(st.st_mode))
            continue;
        if (allow(call, "read", path, failure))
            return -1;
    }
    return 0;
}

static int allow_all(struct toolcage_call *call, struct tc_failure *failure)
{
    DIR *root = opendir("/");
    _autofree_ char *here = realpath(".", NULL);
    int rc = !root || !here
                 ? tc_failure_set(failure, TOOLCAGE_ESYSTEM, "change to a directory that exists",
                                  "cannot look at / and at this directory: %s", strerror(errno))
                 : allow_roots(call, root, failure);
    if (root)
        (void)closedir(root);
    return rc ? rc : allow(call, "write", here, failure);
}

/* What came of the trial stands in the policy too, where it will be read. */
static int print_policy(const char *policy, const struct tc_trial_told *trial)
{
    const char *line = trial->lines ? trial->lines : "";
    for (int rc; *line; line += strcspn(line, "\n") + 1)
        if ((rc = tc_cli_print("# ", 2)) || (rc = tc_cli_print(line, strcspn(line, "\n") + 1)))
            return rc;
    int rc = tc_cli_print(policy, strlen(policy));
    tc_dangers_tell("/learned.toml", NULL, policy, "error");
    return rc;
}

static void say_trial(const struct tc_trial_told *trial)
{
    if (trial->fits) {
        tc_cli_say("it ran once more under this policy, and ended as before");
        return;
    }
    for (const char *line = trial->lines; line && *line; line += strcspn(line, "\n") + 1)
        tc_cli_say("%.*s", (int)strcspn(line, "\n"), line);
    if (trial->lacks)
        tc_cli_hint("learn again with more (--read, --write, --allow-all), or add it to the policy "
                    "by hand");
}

/* A tool that still runs may write where the policy is saved. */
static void hint_at_trust(const char *learned)
{
    struct toolcage_policy *policy = NULL;
    if (toolcage_policy_load_buffer(learned, strlen(learned), "/learned.toml", &policy, NULL))
        return;
    _autofree_ char *command = tc_trust_command("FILE", toolcage_policy_digest(policy));
    if (command)
        tc_cli_hint("read it where you saved it, then: %s", command);
    (void)toolcage_policy_unref(policy);
}

/* Did the tool come to an end of its own, which a second run can be compared with? */
static bool ended(const struct toolcage_result *result)
{
    int32_t status = toolcage_result_status(result);
    return status == TOOLCAGE_STATUS_OK || status == TOOLCAGE_STATUS_FAILED;
}

static int teach(const struct tc_setup *setup, const struct tc_args *args, int code)
{
    _autofailure_ struct tc_failure failure = {0};
    _autotrial_ struct tc_trial_told trial = {0};
    char *policy = NULL;
    if (toolcage_call_learned_policy(setup->call, tc_args_value(args, "name"), &policy,
                                     tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    bool tried = !tc_args_has(args, "no-trial") && ended(toolcage_call_result(setup->call));
    int rc = tried ? tc_trial_run(setup->engine, policy, args->words, args->word_count, code,
                                  &trial, &failure)
                   : 0;
    int printed = print_policy(policy, &trial);
    if (!rc && tried && !printed)
        say_trial(&trial);
    if (!rc && !printed)
        hint_at_trust(policy);
    toolcage_free(policy);
    if (rc)
        return tc_failure_tell(&failure, args, NULL);
    return printed ? printed : trial.lacks && !code ? 1 : code;
}

/* Did it begin at all? */
static bool began(const struct toolcage_result *result)
{
    int32_t status = result ? toolcage_result_status(result) : TOOLCAGE_STATUS_ERROR;
    return status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR;
}

static int run(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    const char *input = tc_args_value(args, "stdin");
    int rc = tc_habit_values(args);
    if (rc)
        return rc;
    if (tc_setup_open(args, NULL, TC_LOOKUP_DEFAULT, &setup, &failure) ||
        tc_setup_command(&setup, args->words, args->word_count, &failure) ||
        allow(setup.call, "denials", "accesses", &failure) ||
        (tc_args_has(args, "allow-all") && allow_all(setup.call, &failure)))
        return tc_failure_tell(&failure, args, NULL);
    setup.aside = true;
    rc = tc_run(&setup, args, NULL, !input || strcmp(input, "none") != 0);
    return began(toolcage_call_result(setup.call)) ? teach(&setup, args, rc) : rc;
}

const struct tc_verb tc_verb_learn = {
    .name = "learn",
    .words = "[options] [--] CMD [ARG]...",
    .summary = "run a command, and print the policy that it needs",
    .text = text,
    .options = options,
    .command = true,
    .least = 1,
    .most = -1,
    .run = run,
};
