/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What works on this host. The table contains the helper's probes; the last line is a test: a
 * command that does nothing, run under the default grant. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/hook/hook.h"
#include "cli/show/failure.h"
#include "cli/show/fold.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/verbs/prove.h"

enum { TC_EXIT_UNFIT = 1, CLAUSE_WIDTH = 18, HOW_COLUMN = 5 + CLAUSE_WIDTH + 2, LINE_WIDTH = 98 };

static const struct tc_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object instead of the table"},
    {"prove", 0, NULL, NULL, "try known escapes on decoys, without a cage and in one"},
    {"backend", 0, "NAME", NULL, "the backend that --prove tries (default: process)"},
    {"agents", 0, NULL, NULL, "which tools of the agents here are caged"},
    {"clean", 0, NULL, NULL, "remove leftovers of killed engines and installs"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "exit codes: 0 the default grant can be enforced here, 1 it cannot, 125 no answer;\n"
    "with --prove 0 every attack that works here was stopped, 1 one was not, or could not be "
    "tried\n"
    "\n"
    "--clean removes empty cgroups, leases of ids, prepared directories, and unfinished installs.\n"
    " Finished installs, sessions and staged changes stay, and so does what a live "
    "process uses.\n"
    "\n"
    "examples:\n"
    "  toolcage doctor\n"
    "  toolcage doctor --json\n"
    "  toolcage doctor --prove\n"
    "  toolcage doctor --agents\n"
    "  toolcage doctor --clean\n";

/* A fix shared by several clauses in a row is printed once: *last is the previous one, owned. */
static void put_fix(FILE *out, char *fix, char **last)
{
    bool told = !fix || !*fix || (*last && !strcmp(fix, *last));
    if (!told) {
        (void)fprintf(out, "%*sfix: ", HOW_COLUMN, "");
        tc_cli_wrap(out, fix, HOW_COLUMN + 5, tc_fold_most(LINE_WIDTH));
    }
    free(*last);
    *last = fix;
}

/* A clause that does not work may have a substitute, which calls use if their policy accepts it. */
static void put_clause(FILE *out, struct tc_slice row, char **last_fix)
{
    _autofree_ char *clause = tc_json_text(tc_json_get(row, "clause"));
    _autofree_ char *how = tc_json_text(tc_json_get(row, "mechanism"));
    _autofree_ char *why = tc_json_text(tc_json_get(row, "reason"));
    _autofree_ char *both = NULL;
    bool works = tc_json_true(tc_json_get(row, "works")), some = how && *how;
    if (!works && some && why &&
        asprintf(&both, "%s; a policy with a plain memory = SIZE is refused: %s", how, why) < 0)
        both = NULL;
    (void)fprintf(out, "%-3s  %-*s  ", works || some ? "ok" : "no", CLAUSE_WIDTH,
                  clause ? clause : "?");
    tc_cli_wrap(out,
                both    ? both
                : works ? how
                : why   ? why
                        : "",
                HOW_COLUMN, tc_fold_most(LINE_WIDTH));
    if (!works)
        put_fix(out, tc_json_text(tc_json_get(row, "fix")), last_fix);
}

static void put_machine(FILE *out, struct tc_slice machine)
{
    _autofree_ char *system = tc_json_text(tc_json_get(machine, "system"));
    _autofree_ char *kernel = tc_json_text(tc_json_get(machine, "kernel"));
    _autofree_ char *architecture = tc_json_text(tc_json_get(machine, "architecture"));
    (void)fprintf(out, "toolcage %s on %s %s %s, uid %" PRId64 "\n\n", toolcage_version(),
                  system ? system : "?", kernel ? kernel : "", architecture ? architecture : "",
                  tc_json_int(tc_json_get(machine, "uid"), -1));
}

/* Other backends whose programs are installed: each was tested with a container. */
static void put_backends(FILE *out, struct tc_slice rows)
{
    struct tc_scan_each each = tc_scan_walk(rows);
    for (bool first = true; tc_scan_next(&each); first = false) {
        _autofree_ char *last_fix = NULL;
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "backend"));
        bool works = tc_json_true(tc_json_get(each.value, "works"));
        _autofree_ char *how =
            tc_json_text(tc_json_get(each.value, works ? "mechanism" : "reason"));
        (void)fprintf(out, "%s%-3s  %-*s  ", first ? "\nother backends\n" : "", works ? "ok" : "no",
                      CLAUSE_WIDTH, name ? name : "?");
        tc_cli_wrap(out, how ? how : "", HOW_COLUMN, tc_fold_most(LINE_WIDTH));
        if (!works)
            put_fix(out, tc_json_text(tc_json_get(each.value, "fix")), &last_fix);
    }
}

/* KVM, which VMs use if possible. */
static void put_kvm(FILE *out, struct tc_slice row)
{
    _autofree_ char *last_fix = NULL;
    bool works = tc_json_true(tc_json_get(row, "works"));
    _autofree_ char *reason = tc_json_text(tc_json_get(row, "reason"));
    (void)fprintf(out, "%-3s  %-*s  ", works ? "ok" : "no", CLAUSE_WIDTH, "/dev/kvm");
    tc_cli_wrap(out, works || !reason ? "a test guest booted with it" : reason, HOW_COLUMN,
                tc_fold_most(LINE_WIDTH));
    if (!works)
        put_fix(out, tc_json_text(tc_json_get(row, "fix")), &last_fix);
}

static bool proof_holds(const struct toolcage_result *proof)
{
    return toolcage_result_status(proof) == TOOLCAGE_STATUS_OK;
}

/* The paths of this host besides its system directories. */
static void put_packaged(FILE *out, struct tc_slice paths)
{
    size_t count = 0;
    struct tc_scan_each each = tc_scan_walk(paths);
    while (tc_scan_next(&each))
        count++;
    (void)fprintf(out, "\nevery cage shows %zu path%s of /etc and /var that installed packages own",
                  count, count == 1 ? "" : "s");
    (void)fputs(count ? "; --json lists them\n" : "\n", out);
}

static void put_table(FILE *out, const char *json, const struct toolcage_result *proof)
{
    struct tc_slice report = tc_json_of(json);
    put_machine(out, tc_json_get(report, "machine"));
    struct tc_scan_each each = tc_scan_walk(tc_json_get(report, "clauses"));
    _autofree_ char *last_fix = NULL;
    while (tc_scan_next(&each))
        put_clause(out, each.value, &last_fix);
    put_backends(out, tc_json_get(report, "backends"));
    put_kvm(out, tc_json_get(report, "kvm"));
    put_packaged(out, tc_json_get(report, "packaged"));
    each = tc_scan_walk(tc_json_get(report, "cuts"));
    while (tc_scan_next(&each)) {
        _autofree_ char *cut = tc_json_text(each.value);
        (void)fprintf(out, "\n%s\n", cut ? cut : "");
    }
    if (proof_holds(proof)) {
        (void)fputs("\n"
                    "cages work here: a command ran in one, with the default grant\n",
                    out);
        return;
    }
    const struct toolcage_error *err = toolcage_result_error(proof);
    (void)fprintf(out,
                  "\n"
                  "the default grant does not work here: %s\n",
                  err ? toolcage_error_message(err) : toolcage_result_message(proof));
    if (*toolcage_error_hint(err))
        (void)fprintf(out, "fix: %s\n", toolcage_error_hint(err));
}

/* The library's object with one additional member. */
static void put_json(FILE *out, const char *json, const struct toolcage_result *proof)
{
    size_t length = strlen(json);
    while (length && json[length - 1] != '}')
        length--;
    const struct toolcage_error *err = toolcage_result_error(proof);
    (void)fprintf(out, "%.*s,\"default_grant\":{\"works\":%s,\"status\":\"%s\",\"error\":%s}}\n",
                  length ? (int)length - 1 : 0, json, proof_holds(proof) ? "true" : "false",
                  toolcage_result_status_word(proof), err ? toolcage_error_json(err) : "null");
}

/* Runs `true` under the default policy. *ret_call holds the result and its error. 0, or negative
 * without a result. */
static int prove(struct toolcage_engine *engine, struct toolcage_call **ret_call,
                 struct toolcage_error **err)
{
    static const char *const command[] = {"true"};
    struct toolcage_policy *policy = NULL;
    int rc = toolcage_policy_new_default(&policy, err);
    /* the default grant refuses some working directories; every cage shows /usr */
    if (!rc && chdir("/usr"))
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
    enum tc_paint paint = tc_args_has(args, "json") ? TC_PAINT_NOTHING : TC_PAINT_STATES;
    int rc = tc_cli_print_text(paint, out, &all);
    return rc ? rc : proof_holds(proof) ? 0 : TC_EXIT_UNFIT;
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

static int run_doctor(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_engine *engine = NULL;
    bool proves = tc_args_has(args, "prove");
    if (tc_args_has(args, "agents") && args->given_count == 1)
        return tc_hook_doctor(args);
    if (tc_args_has(args, "agents")) {
        (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "see toolcage doctor --help",
                             "--agents cannot be combined with other options");
        return tc_failure_tell(&failure, args, NULL);
    }
    if (proves ? tc_args_has(args, "clean") : tc_args_has(args, "backend")) {
        (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "see toolcage doctor --help",
                             proves ? "--prove and --clean are two requests: make one at a time"
                                    : "--backend is for --prove only");
        return tc_failure_tell(&failure, args, NULL);
    }
    if (proves)
        return tc_prove(args, &failure);
    if (toolcage_engine_new(&engine, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    int rc = tc_args_has(args, "clean") ? clean(args, engine, &failure)
                                        : examine(args, engine, &failure);
    (void)toolcage_engine_unref(engine);
    return rc;
}

const struct tc_verb tc_verb_doctor = {
    .name = "doctor",
    .operands = "[--json] [--prove | --clean | --agents]",
    .summary = "show what this host can enforce, and how to fix the rest",
    .text = text,
    .options = options,
    .run = run_doctor,
};
