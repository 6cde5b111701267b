/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb policy test: runs the tests of a policy and of test files, with TAP output. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

enum { TC_EXIT_FAILED_TESTS = 1, FILES_MAX = 64, BYTES_MAX = 4 << 20 };

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    {"coverage", 0, NULL, NULL, "list the entries of the policy that no test asks about"},
    {"require-coverage", 0, "PERCENT", NULL, "exit 1 when tests ask about fewer of the entries"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Runs the [[test]] tables of a policy, and those of files that hold nothing else, in TOML "
    "or\n"
    "YAML. Without --policy the first FILE may be the policy; if it is a test file, the policy "
    "is the one\n"
    "that is found here. No tool runs: each access is checked against the grant that a call\n"
    "would get. The lines are TAP.\n"
    "\n"
    "exit codes: 0 all passed, 1 a test failed or too few entries are covered, 125 a file "
    "cannot be read\n"
    "\n"
    "examples:\n"
    "  toolcage policy test\n"
    "  toolcage policy test --policy toolcage.toml tests/bounds.toml\n"
    "  toolcage policy test --coverage --require-coverage 90 toolcage.toml\n";

/* ---- output ---- */

static void put_why(FILE *out, struct tc_slice point)
{
    _autofree_ char *expected = tc_json_line(tc_json_get(point, "expected"));
    _autofree_ char *verdict = tc_json_line(tc_json_get(point, "verdict"));
    _autofree_ char *reason = tc_json_line(tc_json_get(point, "reason"));
    _autofree_ char *key = tc_json_line(tc_json_get(point, "key"));
    _autofree_ char *hint = tc_json_line(tc_json_get(point, "hint"));
    int64_t line = tc_json_int(tc_json_get(point, "key_line"), 0);
    (void)fprintf(out, "#   expected %s, and it is %s: %s\n", expected ? expected : "",
                  verdict ? verdict : "", reason ? reason : "");
    _autofree_ char *file = tc_json_line(tc_json_get(point, "key_file"));
    if (key && *key && line > 0)
        (void)fprintf(out, "#   by %s, line %" PRId64 "%s%s\n", key, line, file ? " of " : "",
                      file ? file : "");
    else if (key && *key)
        (void)fprintf(out, "#   by %s, which is not set\n", key);
    if (hint && *hint)
        (void)fprintf(out, "#   hint: %s\n", hint);
}

static void put_point(FILE *out, size_t number, struct tc_slice test, struct tc_slice point)
{
    _autofree_ char *tool = tc_json_line(tc_json_get(test, "tool"));
    _autofree_ char *file = tc_json_line(tc_json_get(test, "file"));
    _autofree_ char *what = tc_json_line(tc_json_get(point, "what"));
    _autofree_ char *expected = tc_json_line(tc_json_get(point, "expected"));
    bool fine = tc_json_true(tc_json_get(point, "ok"));
    (void)fprintf(out, "%sok %zu - %s: %s is %s\n", fine ? "" : "not ", number, tool ? tool : "",
                  what ? what : "", expected ? expected : "");
    if (fine)
        return;
    (void)fprintf(out, "#   at %s, line %" PRId64 "\n", file ? file : "",
                  tc_json_int(tc_json_get(point, "line"), 0));
    put_why(out, point);
}

static size_t put_tests(FILE *out, struct tc_slice tests)
{
    size_t number = 0;
    for (struct tc_scan_each test = tc_scan_walk(tests); tc_scan_next(&test);) {
        struct tc_scan_each point = tc_scan_walk(tc_json_get(test.value, "points"));
        while (tc_scan_next(&point))
            put_point(out, ++number, test.value, point.value);
    }
    return number;
}

static void put_missing(FILE *out, struct tc_slice missing)
{
    for (struct tc_scan_each each = tc_scan_walk(missing); tc_scan_next(&each);) {
        _autofree_ char *key = tc_json_line(tc_json_get(each.value, "key"));
        _autofree_ char *what = tc_json_line(tc_json_get(each.value, "what"));
        _autofree_ char *file = tc_json_line(tc_json_get(each.value, "file"));
        (void)fprintf(out, "# not covered: %s, line %" PRId64 "%s%s: %s\n", key ? key : "",
                      tc_json_int(tc_json_get(each.value, "line"), 0), file ? " of " : "",
                      file ? file : "", what ? what : "");
    }
}

static int64_t percent(struct tc_slice coverage)
{
    int64_t total = tc_json_int(tc_json_get(coverage, "total"), 0);
    return total ? tc_json_int(tc_json_get(coverage, "covered"), 0) * 100 / total : 100;
}

static void put_all(FILE *out, const struct tc_args *args, struct tc_slice all)
{
    struct tc_slice counts = tc_json_get(all, "counts"), coverage = tc_json_get(all, "coverage");
    size_t points = put_tests(out, tc_json_get(all, "tests"));
    (void)fprintf(out, "1..%zu%s\n", points, points ? "" : " # SKIP the policy has no tests");
    if (tc_args_has(args, "coverage"))
        put_missing(out, tc_json_get(coverage, "missing"));
    (void)fprintf(out,
                  "# %" PRId64 " passed, %" PRId64 " failed; %" PRId64 " of %" PRId64
                  " entries covered (%" PRId64 " %%)\n",
                  tc_json_int(tc_json_get(counts, "passed"), 0),
                  tc_json_int(tc_json_get(counts, "failed"), 0),
                  tc_json_int(tc_json_get(coverage, "covered"), 0),
                  tc_json_int(tc_json_get(coverage, "total"), 0), percent(coverage));
}

static int print_results(const struct tc_args *args, const char *json, int64_t wanted)
{
    struct tc_slice all = tc_json_of(json);
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json"))
        (void)fprintf(out, "%s\n", json);
    else
        put_all(out, args, all);
    int rc = fclose(out)                 ? tc_cli_no_memory()
             : tc_args_has(args, "json") ? tc_cli_print(lines, size)
                                         : tc_cli_print_painted(TC_PAINT_TAP, lines);
    free(lines);
    if (rc)
        return rc;
    bool few = percent(tc_json_get(all, "coverage")) < wanted;
    if (few)
        tc_cli_say("the tests cover %" PRId64 " %% of the policy's entries, and %" PRId64
                   " %% are required",
                   percent(tc_json_get(all, "coverage")), wanted);
    if (few)
        tc_cli_hint("--coverage lists those that no test asks about");
    bool failed = tc_json_int(tc_json_get(tc_json_get(all, "counts"), "failed"), 1) > 0;
    return failed || few ? TC_EXIT_FAILED_TESTS : 0;
}

/* ---- the files ---- */

struct files {
    char *texts[FILES_MAX];
    size_t lengths[FILES_MAX], count;
    const char *const *names;
};

static void files_done(struct files *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->texts[i]);
}

static int read_files(struct files *f, char *const names[], size_t count,
                      struct tc_failure *failure)
{
    if (count > FILES_MAX)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "run them in several commands",
                              "at most %d files at once", FILES_MAX);
    f->names = (const char *const *)names;
    for (; f->count < count; f->count++) {
        const char *name = names[f->count];
        f->texts[f->count] = tc_cli_read_input(name, BYTES_MAX, &f->lengths[f->count]);
        if (!f->texts[f->count])
            return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                                  "give the path of a test file, of at most 4 MiB",
                                  "cannot read %s: %s", name, strerror(errno));
    }
    return 0;
}

/* The policy of --policy, or the first argument if it is a policy, or the one found here.
 * *ret_words: number of arguments used. `doubt`: why the first argument is not a policy. */
static int open_policy(const struct tc_args *args, struct toolcage_policy **ret, size_t *ret_words,
                       struct tc_failure *doubt, struct tc_failure *failure)
{
    const char *given = tc_args_value(args, "policy");
    *ret_words = !given && args->operand_count > 0;
    if (*ret_words && !toolcage_policy_load_file(args->operands[0], ret, tc_failure_error(doubt)))
        return 0;
    *ret_words = 0;
    _autofree_ char *path = tc_lookup_named(given, failure);
    return path ? toolcage_policy_load_file(path, ret, tc_failure_error(failure)) : -1;
}

static int ask_policy(const struct tc_args *args, const struct toolcage_policy *policy,
                      size_t taken, char **ret, struct tc_failure *failure)
{
    __attribute__((cleanup(files_done))) struct files files = {0};
    if (read_files(&files, args->operands + taken, args->operand_count - taken, failure))
        return -1;
    return toolcage_policy_test_json(policy, files.count, (const char *const *)files.texts,
                                     files.lengths, files.names, ret, tc_failure_error(failure));
}

/* Should the error of the first argument be reported? Yes if no policy was found, or if the
 * argument is a policy with a mistake. */
static bool prefer(const struct tc_failure *doubt, const struct tc_failure *failure, bool found)
{
    int code = failure->error ? toolcage_error_code(failure->error) : failure->code;
    return doubt->error && (found ? failure->error && code == TOOLCAGE_EUSAGE
                                  : !failure->error && code == TOOLCAGE_ENOT_FOUND);
}

/* *ret_alone: the first argument is the only candidate for a policy. */
static int test(const struct tc_args *args, char **ret, bool *ret_alone, struct tc_failure *failure)
{
    _autofailure_ struct tc_failure doubt = {0};
    struct toolcage_policy *policy = NULL;
    size_t taken;
    int rc = open_policy(args, &policy, &taken, &doubt, failure);
    bool found = policy;
    if (!rc)
        rc = ask_policy(args, policy, taken, ret, failure);
    (void)toolcage_policy_unref(policy);
    *ret_alone = false;
    if (!rc || !prefer(&doubt, failure, found))
        return rc;
    *ret_alone = !found;
    struct tc_failure other = *failure;
    *failure = doubt;
    doubt = other;
    return rc;
}

/* Without another policy the first argument must be one; it may have been meant as a test file. */
static int tell_failure(const struct tc_args *args, const struct tc_failure *failure, bool alone)
{
    int rc = tc_failure_tell(failure, args, NULL);
    if (alone && !tc_args_has(args, "json"))
        tc_cli_hint("if it is a test file, name its policy with --policy FILE");
    return rc;
}

static int run_policy_test(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    const char *value = tc_args_value(args, "require-coverage");
    char *end = NULL, *json = NULL;
    long wanted = value ? strtol(value, &end, 10) : 0;
    if (value && (!*value || *end || wanted < 0 || wanted > 100)) {
        tc_cli_say("--require-coverage is a number from 0 to 100, not %s", value);
        tc_cli_hint("as in --require-coverage 90");
        return TC_EXIT_FAILURE;
    }
    bool alone = false;
    int rc = test(args, &json, &alone, &failure) ? tell_failure(args, &failure, alone)
                                                 : print_results(args, json, wanted);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_test = {
    .name = "policy test",
    .operands = "[options] [FILE]...",
    .summary = "run the tests of a policy",
    .text = text,
    .options = options,
    .most = -1,
    .run = run_policy_test,
};
