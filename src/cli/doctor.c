/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What works on this machine. The table is what the helper probed; the last line is proof: a
 * command that does nothing, run under the default grant. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/json.h"
#include "cli/say.h"

enum { TC_EXIT_UNFIT = 1, CLAUSE_WIDTH = 18, HOW_COLUMN = 5 + CLAUSE_WIDTH + 2, LINE_WIDTH = 98 };

static const struct tc_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object in place of the table"},
    {"clean", 0, NULL, NULL, "sweep what killed engines may have left"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "exit codes: 0 the default grant can be enforced here, 1 it cannot, 125 no answer\n\n"
    "examples:\n"
    "  toolcage doctor\n"
    "  toolcage doctor --json\n"
    "  toolcage doctor --clean\n";

/* Words from the column `indent` on, broken before the line gets too long. */
static void put_text(FILE *out, const char *words, int indent)
{
    int column = indent;
    for (const char *word = words; *word;) {
        int length = (int)strcspn(word, " \n");
        if (column > indent && column + 1 + length > LINE_WIDTH) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fprintf(out, "%.*s", length, word);
        column += length;
        word += length + (word[length] != '\0');
    }
    (void)fputc('\n', out);
}

/* A fix that several clauses in a row share is told once: *last is the one told last, owned. */
static void put_fix(FILE *out, char *fix, char **last)
{
    bool told = !fix || !*fix || (*last && !strcmp(fix, *last));
    if (!told) {
        (void)fprintf(out, "%*sfix: ", HOW_COLUMN, "");
        put_text(out, fix, HOW_COLUMN + 5);
    }
    free(*last);
    *last = fix;
}

static void put_clause(FILE *out, struct tc_json row, char **last_fix)
{
    _autofree_ char *clause = tc_json_text(tc_json_get(row, "clause"));
    bool works = tc_json_true(tc_json_get(row, "works"));
    _autofree_ char *how = tc_json_text(tc_json_get(row, works ? "mechanism" : "reason"));
    (void)fprintf(out, "%-3s  %-*s  ", works ? "ok" : "no", CLAUSE_WIDTH, clause ? clause : "?");
    put_text(out, how ? how : "", HOW_COLUMN);
    if (!works)
        put_fix(out, tc_json_text(tc_json_get(row, "fix")), last_fix);
}

static void put_machine(FILE *out, struct tc_json machine)
{
    _autofree_ char *system = tc_json_text(tc_json_get(machine, "system"));
    _autofree_ char *kernel = tc_json_text(tc_json_get(machine, "kernel"));
    _autofree_ char *architecture = tc_json_text(tc_json_get(machine, "architecture"));
    (void)fprintf(out, "toolcage %s on %s %s %s, uid %" PRId64 "\n\n", toolcage_version(),
                  system ? system : "?", kernel ? kernel : "", architecture ? architecture : "",
                  tc_json_int(tc_json_get(machine, "uid"), -1));
}

static bool holds(const struct toolcage_result *proof)
{
    return toolcage_result_status(proof) == TOOLCAGE_STATUS_OK;
}

static void put_table(FILE *out, const char *json, const struct toolcage_result *proof)
{
    struct tc_json report = tc_json_of(json);
    put_machine(out, tc_json_get(report, "machine"));
    struct tc_json_each each = tc_json_walk(tc_json_get(report, "clauses"));
    _autofree_ char *last_fix = NULL;
    while (tc_json_next(&each))
        put_clause(out, each.value, &last_fix);
    if (holds(proof)) {
        (void)fputs("\nthe default grant holds here: a command ran under it\n", out);
        return;
    }
    const struct toolcage_error *err = toolcage_result_error(proof);
    (void)fprintf(out, "\nthe default grant does not hold here: %s\n",
                  err ? toolcage_error_message(err) : toolcage_result_message(proof));
    if (*toolcage_error_hint(err))
        (void)fprintf(out, "fix: %s\n", toolcage_error_hint(err));
}

/* The library's object with one member more. */
static void put_json(FILE *out, const char *json, const struct toolcage_result *proof)
{
    size_t length = strlen(json);
    while (length && json[length - 1] != '}')
        length--;
    const struct toolcage_error *err = toolcage_result_error(proof);
    (void)fprintf(out, "%.*s,\"default_grant\":{\"works\":%s,\"status\":\"%s\",\"error\":%s}}\n",
                  length ? (int)length - 1 : 0, json, holds(proof) ? "true" : "false",
                  toolcage_result_status_word(proof), err ? toolcage_error_json(err) : "null");
}

/* Runs nothing at all under the default policy. *ret_call holds why not: its result's error, NULL
 * when it ran. 0, or negative when there is no answer. */
static int prove(struct toolcage_engine *engine, struct toolcage_call **ret_call,
                 struct toolcage_error **err)
{
    static const char *const command[] = {"true"};
    struct toolcage_policy *policy = NULL;
    int rc = toolcage_policy_new_default(&policy, err);
    /* the default grant refuses some working directories; /tmp is private anyway */
    if (!rc && chdir("/tmp"))
        tc_cli_say("cannot leave the working directory: %s", strerror(errno));
    if (!rc)
        rc = toolcage_call_new(engine, policy, NULL, ret_call, err);
    if (!rc)
        rc = toolcage_call_set_command(*ret_call, 1, command, err);
    if (!rc)
        rc = toolcage_call_run(*ret_call, err);
    (void)toolcage_policy_unref(policy);
    return rc < 0 ? rc : 0;
}

static int print_report(const struct tc_args *args, const char *json,
                        const struct toolcage_result *proof)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json"))
        put_json(out, json, proof);
    else
        put_table(out, json, proof);
    int rc = fclose(out) ? tc_cli_no_memory() : tc_cli_print_clean(all);
    free(all);
    return rc ? rc : holds(proof) ? 0 : TC_EXIT_UNFIT;
}

static int examine(const struct tc_args *args, struct toolcage_engine *engine,
                   struct tc_failure *failure)
{
    struct toolcage_call *call = NULL;
    char *json = NULL;
    int rc = toolcage_engine_doctor_json(engine, &json, tc_failure_error(failure));
    if (!rc)
        rc = prove(engine, &call, tc_failure_error(failure));
    rc = rc ? tc_failure_tell(failure, args, NULL)
            : print_report(args, json, toolcage_call_result(call));
    (void)toolcage_call_unref(call);
    toolcage_free(json);
    return rc;
}

static int clean(const struct tc_args *args, struct toolcage_engine *engine,
                 struct tc_failure *failure)
{
    uint32_t removed = 0;
    char line[64];
    if (toolcage_engine_clean(engine, &removed, tc_failure_error(failure)))
        return tc_failure_tell(failure, args, NULL);
    int length = snprintf(line, sizeof(line),
                          tc_args_has(args, "json") ? "{\"removed\":%" PRIu32 "}\n"
                                                    : "removed %" PRIu32 "\n",
                          removed);
    return tc_cli_print(line, (size_t)length);
}

static int run(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_engine *engine = NULL;
    if (toolcage_engine_new(&engine, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    int rc = tc_args_has(args, "clean") ? clean(args, engine, &failure)
                                        : examine(args, engine, &failure);
    (void)toolcage_engine_unref(engine);
    return rc;
}

const struct tc_verb tc_verb_doctor = {
    .name = "doctor",
    .words = "[--json | --clean]",
    .summary = "what works on this machine, what not, and the fix",
    .text = text,
    .options = options,
    .run = run,
};
