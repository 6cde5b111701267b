/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage learn`: runs a command and writes the minimal policy that allows its accesses. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/dangers.h"
#include "cli/call/run.h"
#include "cli/call/trust.h"
#include "cli/show/foreign_options.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/verbs/learned.h"

/* ---- the second run ---- */

enum { TOLD = 10 };

/* The learned policy is tested: its tool is called once, and its changes are not applied. */
struct trial {
    bool fits;   /* it ended like the first run */
    bool lacks;  /* it could not start, or had denials */
    char *lines; /* messages for the user, each with a newline; NULL: none */
};

static void trial_done(struct trial *trial)
{
    free(trial->lines);
    trial->lines = NULL;
}

/* The name of the policy's only tool, and whether it has a command. */
static char *tool_of(const struct toolcage_policy *policy, bool *ret_command,
                     struct tc_failure *failure)
{
    char *json = NULL;
    if (toolcage_policy_tools_json(policy, "toolcage", &json, tc_failure_error(failure)))
        return NULL;
    struct tc_scan_each each = tc_scan_walk(tc_json_of(json));
    char *name = NULL;
    if (tc_scan_next(&each)) {
        struct tc_slice command = tc_json_get(each.value, "command");
        struct tc_scan_each word = tc_scan_walk(command);
        *ret_command = command.at && tc_scan_next(&word);
        name = tc_json_text(tc_json_get(each.value, "name"));
    }
    toolcage_free(json);
    if (!name)
        (void)tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return name;
}

static int begin_trial(struct toolcage_engine *engine, const struct toolcage_policy *policy,
                       char *const words[], size_t word_count, struct toolcage_call **ret,
                       struct tc_failure *failure)
{
    bool command = false;
    struct toolcage_error **err = tc_failure_error(failure);
    _autofree_ char *tool = tool_of(policy, &command, failure);
    if (!tool || toolcage_call_new(engine, (struct toolcage_policy *)policy, tool, ret, err) ||
        (!command && toolcage_call_set_command(*ret, word_count, (const char *const *)words, err)))
        return -1;
    return toolcage_call_set(*ret, "denials", "paths", err) ||
                   toolcage_call_set(*ret, "commit", "never", err)
               ? -1
               : 0;
}

/* Writes "refused: read /x" lines. */
static size_t put_denials(FILE *out, struct tc_slice json)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(json, "denials"));
    size_t count = 0;
    while (tc_scan_next(&each)) {
        _autofree_ char *operation = tc_json_line(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_line(tc_json_get(each.value, "target"));
        if (tc_json_true(tc_json_get(each.value, "probe")) || count++ >= TOLD)
            continue;
        (void)fprintf(out, "refused: %s %s\n", operation ? operation : "?", target ? target : "?");
    }
    if (count > TOLD)
        (void)fprintf(out, "refused: %zu more\n", count - TOLD);
    return count;
}

static void judge_result(const struct toolcage_result *result, int wanted, struct trial *ret,
                         FILE *out)
{
    const struct toolcage_error *why = toolcage_result_error(result);
    int32_t status = toolcage_result_status(result);
    int code = toolcage_result_shell_code(result);
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    bool began = status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR;
    ret->fits = began && code == wanted;
    if (ret->fits)
        return;
    if (!began) {
        _autofree_ char *message = tc_json_line(tc_json_get(tc_json_get(json, "error"), "message"));
        (void)fprintf(out, "run once more under it, it did not start: %s\n",
                      message ? message : toolcage_error_word(toolcage_error_code(why)));
    } else {
        (void)fprintf(out, "run once more under it, it ended with exit code %d, not %d\n", code,
                      wanted);
    }
    ret->lacks = put_denials(out, json) || !began;
    if (!ret->lacks)
        (void)fputs("nothing was refused: it may be a command that cannot be run twice\n", out);
}

static int report_result(const struct toolcage_result *result, int wanted, struct trial *ret,
                         struct tc_failure *failure)
{
    size_t length = 0;
    FILE *out = open_memstream(&ret->lines, &length);
    if (out)
        judge_result(result, wanted, ret, out);
    if (!out || fclose(out) || !ret->lines)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return 0;
}

/* `words` is the command of a tool without one; `code` is the expected exit code. 0, or -1 with the
 * failure. */
static int run_trial(struct toolcage_engine *engine, const char *policy, char *const words[],
                     size_t word_count, int code, struct trial *ret, struct tc_failure *failure)
{
    struct toolcage_policy *compiled = NULL;
    struct toolcage_call *call = NULL;
    *ret = (struct trial){0};
    int rc = toolcage_policy_load_buffer(policy, strlen(policy), "/learned.toml", &compiled,
                                         tc_failure_error(failure)) ||
                     begin_trial(engine, compiled, words, word_count, &call, failure) ||
                     tc_run_silent(call, failure)
                 ? -1
                 : report_result(toolcage_call_result(call), code, ret, failure);
    (void)toolcage_call_unref(call);
    (void)toolcage_policy_unref(compiled);
    return rc;
}

/* ---- the verb ---- */

static const struct tc_option options[] = {
    {"name", 0, "NAME", NULL, "the name of the learned tool (default: as its command)"},
    {"allow-all", 0, NULL, NULL,
     "it may read all but /etc and credentials, and write this directory"},
    TC_OPTIONS_NARROWING,
    TC_OPTION_STDIN,
    {"from-audit", 0, NULL, NULL, "run nothing: learn from calls of the audit log"},
    {"policy", 0, "FILE", NULL, "with from-audit: the policy to narrow"},
    {"tool", 0, "NAME", NULL, "with from-audit: calls of this tool only"},
    {"since", 0, "TIME", NULL, "with from-audit: 2h, 7d or 2026-01-31T12:00"},
    {"no-trial", 0, NULL, NULL, "do not run it once more under what was learned"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Runs the command in a cage, lists what it accesses, and prints the minimal policy that "
    "allows\n"
    "these accesses. The command's own output goes to standard error, so that the policy can be\n"
    "redirected. The grant is the default one (read this directory, write nothing), regardless of "
    "any\n"
    "policy file; --read, --write and --allow-all add to it. Refused accesses are comments in the\n"
    "policy: run again with more options, or add them by hand. Then the command runs once more "
    "under\n"
    "that policy, without input and without applying changes, and what was missing is reported. "
    "Trust\n"
    "the policy with policy trust.\n"
    "\n"
    "With --from-audit it runs nothing. It prints a policy that extends FILE and grants its tools "
    "only\n"
    "what recorded calls used, each with the id of a call; what the log does not know is a "
    "comment.\n"
    "\n"
    "exit codes: those of exec; 1 also when the second run lacked something\n"
    "\n"
    "examples:\n"
    "  toolcage learn --write . make > toolcage.toml\n"
    "  toolcage learn --read ~/venv -e PYTHONPATH=src -- ~/venv/bin/python test.py > "
    "toolcage.toml\n"
    "  toolcage learn --allow-all --name report -- python3 report.py > toolcage.toml\n"
    "  toolcage policy trust toolcage.toml && toolcage call make\n"
    "  toolcage learn --from-audit --tool make --since 30d > narrow.toml\n";

/* Kernel file systems, directories that a cage has anyway, and host configuration, where keys are
 * stored next to public files. */
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

/* Messages of the second run are also comments in the policy. */
static int print_policy(const char *policy, const struct trial *trial)
{
    const char *line = trial->lines ? trial->lines : "";
    for (int rc; *line; line += strcspn(line, "\n") + 1)
        if ((rc = tc_cli_print("# ", 2)) || (rc = tc_cli_print(line, strcspn(line, "\n") + 1)))
            return rc;
    int rc = tc_cli_print(policy, strlen(policy));
    tc_dangers_tell("/learned.toml", NULL, policy, "error");
    return rc;
}

static void say_trial(const struct trial *trial)
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

/* Prints the command that trusts exactly the learned policy, by its digest: a tool that is still
 * running could change the file in which the user saves the policy. */
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

/* Did the tool exit by itself, so that a second run is comparable? */
static bool tool_ended(const struct toolcage_result *result)
{
    int32_t status = toolcage_result_status(result);
    return status == TOOLCAGE_STATUS_OK || status == TOOLCAGE_STATUS_FAILED;
}

static int teach(const struct tc_setup *setup, const struct tc_args *args, int code)
{
    _autofailure_ struct tc_failure failure = {0};
    __attribute__((cleanup(trial_done))) struct trial trial = {0};
    char *policy = NULL;
    if (toolcage_call_learned_policy(setup->call, tc_args_value(args, "name"), &policy,
                                     tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    bool tried = !tc_args_has(args, "no-trial") && tool_ended(toolcage_call_result(setup->call));
    int rc = tried ? run_trial(setup->engine, policy, args->operands, args->operand_count, code,
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

/* Did the tool start? */
static bool began(const struct toolcage_result *result)
{
    int32_t status = result ? toolcage_result_status(result) : TOOLCAGE_STATUS_ERROR;
    return status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR;
}

/* The times of files in place show which the command made. */
static bool in_place(const struct tc_args *args)
{
    return !tc_args_has(args, "commit") && !tc_args_has(args, "dry-run") &&
           !tc_args_has(args, "disk");
}

/* Either a command, or --from-audit with its options. */
static int check_form(const struct tc_args *args)
{
    bool log = tc_args_has(args, "from-audit");
    bool others =
        tc_args_has(args, "policy") || tc_args_has(args, "tool") || tc_args_has(args, "since");
    return log ? args->operand_count > 0 : !args->operand_count || others;
}

static int run_learn(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    bool input = false;
    int rc = check_form(args);
    if (rc)
        return tc_failure_set(&failure, TOOLCAGE_EUSAGE, "toolcage learn --help", "%s",
                              tc_args_has(args, "from-audit")
                                  ? "--from-audit runs no command"
                                  : "learn needs a command; --policy, --tool and --since need "
                                    "--from-audit"),
               tc_failure_tell(&failure, args, NULL);
    if (tc_args_has(args, "from-audit"))
        return tc_learn_from_audit(args);
    rc = tc_foreign_values(args);
    if (!rc)
        rc = tc_input_choose(args, &input);
    if (rc)
        return rc;
    if (tc_setup_open(args, NULL, TC_LOOKUP_DEFAULT, &setup, &failure) ||
        tc_setup_command(&setup, args->operands, args->operand_count, &failure) ||
        allow(setup.call, "denials", "accesses", &failure) ||
        (in_place(args) && allow(setup.call, "mode", "bind", &failure)) ||
        (tc_args_has(args, "allow-all") && allow_all(setup.call, &failure)))
        return tc_failure_tell(&failure, args, NULL);
    setup.aside = true;
    rc = tc_run(&setup, args, NULL, input);
    return began(toolcage_call_result(setup.call)) ? teach(&setup, args, rc) : rc;
}

const struct tc_verb tc_verb_learn = {
    .name = "learn",
    .operands = "[options] [--] CMD [ARG]... | --from-audit [options]",
    .summary = "run a command, and print the policy that it needs",
    .text = text,
    .options = options,
    .command = true,
    .least = 0,
    .most = -1,
    .run = run_learn,
};
