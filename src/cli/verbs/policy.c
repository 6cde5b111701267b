/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verbs for a policy file: digest, diff, schema, trust. Others are in check.c, explain.c,
 * policy_test.c and policy_import.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/call/dangers.h"
#include "cli/call/lookup.h"
#include "cli/call/trust.h"
#include "cli/show/failure.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"

static int load_policy(const struct tc_args *args, char **ret_path, struct toolcage_policy **ret,
                       struct tc_failure *failure)
{
    *ret_path = tc_lookup_named(args->operands[0], failure);
    return *ret_path ? toolcage_policy_load_file(*ret_path, ret, tc_failure_error(failure)) : -1;
}

/* ---- digest ---- */

static const struct tc_option plain_options[] = {
    TC_OPTION_HELP,
    {0},
};

static int run_digest(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *path = NULL;
    struct toolcage_policy *policy = NULL;
    if (load_policy(args, &path, &policy, &failure))
        return tc_failure_tell(&failure, args, NULL);
    _autofree_ char *line = tc_cli_format("%s  %s\n", toolcage_policy_digest(policy), path);
    (void)toolcage_policy_unref(policy);
    return line ? tc_cli_print_clean(line) : tc_cli_no_memory();
}

const struct tc_verb tc_verb_policy_digest = {
    .name = "policy digest",
    .operands = "[FILE]",
    .summary = "the digest of a policy's meaning",
    .text = "The same on every machine; comments and the order of keys do not change it.\n\n"
            "examples:\n  toolcage policy digest toolcage.toml\n",
    .options = plain_options,
    .most = 1,
    .run = run_digest,
};

/* ---- diff: what one policy allows beyond another ---- */

enum { TC_EXIT_WIDENED = 1, TC_EXIT_BREAKS = 2 }; /* 3: both */

static const struct tc_option diff_options[] = {
    {"against-history", 0, NULL, NULL, "also say which recorded calls the new policy breaks"},
    {"since", 0, "TIME", NULL, "with it: only calls from then on: 2026-01-31, 2h, 7d"},
    {"directory", 0, "DIR", NULL, "with it: another audit log than yours, such as a copy"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static void put_change(FILE *out, struct tc_slice change, const char *word, char **place)
{
    _autofree_ char *text = tc_json_line(tc_json_get(change, "text"));
    char *now = tc_json_line(tc_json_get(change, "place"));
    if (now && (!*place || strcmp(now, *place) != 0))
        (void)fprintf(out, "%s\n", now);
    free(*place);
    *place = now;
    (void)fprintf(out, "  %s %s\n",
                  !strcmp(word, "more")   ? "+"
                  : !strcmp(word, "less") ? "-"
                                          : " ",
                  text ? text : "?");
}

/* The library's list of changes as text: "+ more", "- less", "  neither" (`brief`: only their
 * number), each below its table. "" without changes. Owned; NULL if memory is exhausted. */
static char *diff_text(const char *json, bool brief)
{
    _autofree_ char *place = NULL;
    char *all = NULL;
    size_t size = 0, even = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return NULL;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "changes"));
    while (tc_scan_next(&each)) {
        _autofree_ char *word = tc_json_line(tc_json_get(each.value, "change"));
        if (brief && word && !strcmp(word, "neither"))
            even++;
        else
            put_change(out, each.value, word ? word : "more", &place);
    }
    if (even)
        (void)fprintf(out, "other differences, which grant neither more nor less: %zu\n", even);
    return tc_cli_text(out, &all);
}

static int print_diff_text(const char *json, const char *history)
{
    _autofree_ char *all = diff_text(json, false);
    if (!all)
        return tc_cli_no_memory();
    int rc = tc_cli_print_painted(TC_PAINT_SIGNS, *all ? all : "both grant the same\n");
    return rc || !history ? rc : tc_cli_print_painted(TC_PAINT_ROWS, history);
}

/* `history`: the calls that break; NULL: they were not asked for. */
static int print_diff(const struct tc_args *args, const char *json, const char *history)
{
    if (!tc_args_has(args, "json"))
        return print_diff_text(json, history);
    _autofree_ char *both = history ? tc_cli_format("%.*s,\"history\":%.*s}", (int)strlen(json) - 1,
                                                    json, (int)strcspn(history, "\n"), history)
                                    : strdup(json);
    return both ? tc_cli_print_line(both) : tc_cli_no_memory();
}

/* Calls of the log that only `from` would allow; owned. NULL with the failure. */
static char *check_history(const struct tc_args *args, struct toolcage_policy *from,
                           struct toolcage_policy *to, int64_t *ret_broken,
                           struct tc_failure *failure)
{
    struct tc_past_filter filter = {0};
    char since[TC_PAST_TIME_SIZE];
    if (tc_past_time(args, "since", since, &filter.since, failure))
        return NULL;
    _autofd_ int dir = tc_past_log(tc_args_value(args, "directory"), failure);
    return dir < 0 ? NULL
                   : tc_recheck_text(dir, &filter, to, from, tc_args_has(args, "json"), ret_broken,
                                     failure);
}

static int check_diff_options(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const need[] = {"since", "directory"};
    for (size_t i = 0; i < TC_COUNT(need); i++)
        if (tc_args_has(args, need[i]) && !tc_args_has(args, "against-history"))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add --against-history",
                                  "--%s is about recorded calls", need[i]);
    return 0;
}

static int run_diff(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *history = NULL;
    struct toolcage_policy *from = NULL, *to = NULL;
    char *json = NULL;
    int64_t broken = 0;
    int rc = check_diff_options(args, &failure);
    if (!rc)
        rc = toolcage_policy_load_file(args->operands[0], &from, tc_failure_error(&failure));
    if (!rc)
        rc = toolcage_policy_load_file(args->operands[1], &to, tc_failure_error(&failure));
    if (!rc)
        rc = toolcage_policy_diff_json(from, to, &json, tc_failure_error(&failure));
    if (!rc && tc_args_has(args, "against-history") &&
        !(history = check_history(args, from, to, &broken, &failure)))
        rc = -1;
    (void)toolcage_policy_unref(from);
    (void)toolcage_policy_unref(to);
    if (rc)
        (void)tc_failure_tell(&failure, args, NULL);
    bool widened = json && tc_json_true(tc_json_get(tc_json_of(json), "widened"));
    int code = rc ? TC_EXIT_FAILURE : print_diff(args, json, history);
    toolcage_free(json);
    return code ? code : (widened ? TC_EXIT_WIDENED : 0) | (broken ? TC_EXIT_BREAKS : 0);
}

const struct tc_verb tc_verb_policy_diff = {
    .name = "policy diff",
    .operands = "[--against-history] OLD NEW",
    .summary = "what one policy grants more or less than another",
    .text = "Meanings are compared, not the files: + is more, - is less. What cannot be "
            "compared counts as\n"
            "more, and says so. Relative paths start at each file's own directory.\n"
            "\n"
            "--against-history checks recorded calls of the audit log under both: a call that OLD "
            "allows and\n"
            "NEW would refuse, or what it did, is listed. Nothing runs.\n"
            "\n"
            "exit codes: 0 nothing was widened, 1 something was, 2 recorded calls break, 3 both, "
            "125 a file\n"
            "cannot be read\n"
            "\n"
            "examples:\n"
            "  toolcage policy diff toolcage.toml proposed.toml\n"
            "  toolcage policy diff toolcage.toml proposed.toml --against-history --since 7d\n",
    .options = diff_options,
    .least = 2,
    .most = 2,
    .run = run_diff,
};

/* ---- schema, for editors ---- */

static int run_schema(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (toolcage_policy_schema_json(&json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    int rc = tc_cli_print_line(json);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_schema = {
    .name = "policy schema",
    .operands = "",
    .summary = "a JSON Schema of the policy file, for editors",
    .text = "With it an editor completes and checks a policy while it is written. Name it in the "
            "first\n"
            "line of the policy:\n\n"
            "  #:schema ./policy.schema.json                       TOML, in editors with taplo\n\n"
            "examples:\n  toolcage policy schema > policy.schema.json\n",
    .options = plain_options,
    .run = run_schema,
};

/* ---- trust ---- */

static const struct tc_option trust_options[] = {
    {"digest", 0, "DIGEST", NULL, "only if this is the policy's digest; 32 digits are enough"},
    {"remove", 0, NULL, NULL, "no longer trust the file"},
    TC_OPTION_HELP,
    {0},
};

/* The file, and its policy as read once. */
struct subject {
    char *path, *text; /* `text` is stored for later comparisons only */
    struct toolcage_policy *policy;
    bool known; /* this version was trusted before */
};

static void subject_done(struct subject *s)
{
    free(s->path);
    free(s->text);
    (void)toolcage_policy_unref(s->policy);
}

static int find_file(struct subject *s, const struct tc_args *args, struct tc_failure *failure)
{
    _autofree_ char *path = tc_lookup_named(args->operands[0], failure);
    if (!path)
        return -1;
    s->path = realpath(path, NULL);
    return s->path ? 0
                   : tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "give the path of a policy file",
                                    "cannot find %s: %s", path, strerror(errno));
}

/* ---- grants ---- */

/* The policy that was last trusted here, verified by its digest; NULL: its text is not stored, or
 * an extended file has changed. */
static struct toolcage_policy *load_last(const struct subject *s, const char *digest,
                                         const char *text)
{
    struct toolcage_policy *policy = NULL;
    if (!text || toolcage_policy_load_buffer(text, strlen(text), s->path, &policy, NULL))
        return NULL;
    return strcmp(toolcage_policy_digest(policy), digest) ? toolcage_policy_unref(policy) : policy;
}

/* Prints what is granted beyond `before`; NULL: everything. */
static void show_grants(const struct subject *s, struct toolcage_policy *before)
{
    struct toolcage_policy *nothing = NULL;
    char *json = NULL;
    if (!before && toolcage_policy_load_buffer("", 0, s->path, &nothing, NULL))
        nothing = NULL;
    if ((before || nothing) &&
        toolcage_policy_diff_json(before ? before : nothing, s->policy, &json, NULL))
        json = NULL;
    _autofree_ char *text = json ? diff_text(json, true) : NULL;
    if (text)
        tc_cli_stderr_painted(TC_PAINT_SIGNS, text);
    else
        tc_cli_say("its grants could not be compared");
    toolcage_free(json);
    (void)toolcage_policy_unref(nothing);
}

static void show_change(const struct subject *s, const char *last, const char *text)
{
    struct toolcage_policy *before = last ? load_last(s, last, text) : NULL;
    if (before)
        tc_cli_say("%s has changed since it was trusted as %s:", s->path, last);
    else
        tc_cli_say("%s %s; all that it grants:", s->path,
                   last ? "has changed, and the version that was trusted is not kept"
                        : "was never trusted");
    show_grants(s, before);
    tc_cli_hint("toolcage policy explain --tool NAME shows the whole grant of a tool");
    (void)toolcage_policy_unref(before);
}

static void show_policy(struct subject *s)
{
    _autofree_ char *text = NULL;
    _autofree_ char *last = tc_trust_last(s->path, &text);
    s->known = last && !strcmp(last, toolcage_policy_digest(s->policy));
    if (!s->known)
        show_change(s, last, text);
    tc_dangers_of(s->policy);
}

/* ---- approval ---- */

static int refuse_unasked(const struct subject *s, struct tc_failure *failure)
{
    _autofree_ char *command = tc_trust_command(s->path, toolcage_policy_digest(s->policy));
    _autofree_ char *hint = command ? tc_cli_format("read it, then: %s", command) : NULL;
    return tc_failure_set(
        failure, TOOLCAGE_EUNTRUSTED, hint,
        "%s was not trusted: there is no terminal to ask at (/dev/tty cannot be opened)", s->path);
}

/* Scripts are not asked; they should use --digest. */
static int ask_trust(const struct subject *s, struct tc_failure *failure)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return 0;
    FILE *terminal = fopen("/dev/tty", "r+e");
    if (!terminal)
        return refuse_unasked(s, failure);
    _autofree_ char *question =
        tc_cli_format("trust this policy, %s? [y/N]", toolcage_policy_digest(s->policy));
    char answer = question ? tc_cli_answer(fileno(terminal), terminal, question) : 0;
    (void)fclose(terminal);
    return answer == 'y' ? 0
                         : tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, NULL,
                                          "%s was not trusted: it was not approved", s->path);
}

static int check_digest(const struct subject *s, const char *given, struct tc_failure *failure)
{
    const char *digest = toolcage_policy_digest(s->policy);
    if (!tc_trust_is_digest(given))
        return tc_failure_set(
            failure, TOOLCAGE_EUSAGE,
            "toolcage policy digest FILE prints it: sha256: and 64 digits, of which "
            "32 are enough",
            "--digest %s is not the digest of a policy", given);
    if (tc_trust_matches(given, digest))
        return 0;
    (void)tc_failure_set(
        failure, TOOLCAGE_EUNTRUSTED, "read it again: toolcage policy check shows it as it is now",
        "the policy %s has the digest %s, not %s: nothing was trusted", s->path, digest, given);
    return tc_failure_about(failure, s->path);
}

/* The policy is read once, so that the recorded digest is of the displayed policy. */
static int trust(struct subject *s, const char *given, struct tc_failure *failure)
{
    if (toolcage_policy_load_file(s->path, &s->policy, tc_failure_error(failure)))
        return -1;
    s->text = tc_cli_read_file(s->path);
    if (given && check_digest(s, given, failure))
        return -1;
    show_policy(s);
    if (!s->known && !given && ask_trust(s, failure))
        return -1;
    return tc_trust_set(s->path, toolcage_policy_digest(s->policy), s->text, failure);
}

static int forget(struct subject *s, struct tc_failure *failure)
{
    enum tc_trust before;
    if (tc_trust_check(s->path, "", &before, failure))
        return -1;
    s->known = before != TC_TRUST_NEVER;
    return s->known ? tc_trust_set(s->path, NULL, NULL, failure) : 0;
}

static int tell_trust(const struct subject *s, bool remove)
{
    const char *known = s->known ? "trusted already" : "trusted";
    _autofree_ char *line =
        remove
            ? tc_cli_format("%s: %s\n", s->known ? "no longer trusted" : "was not trusted", s->path)
            : tc_cli_format("%s: %s\n         %s\n", known, s->path,
                            toolcage_policy_digest(s->policy));
    return line ? tc_cli_print_clean(line) : tc_cli_no_memory();
}

static int run_trust(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    __attribute__((cleanup(subject_done))) struct subject s = {0};
    const char *given = tc_args_value(args, "digest");
    bool remove = tc_args_has(args, "remove");
    if (remove && given)
        (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "leave --digest out",
                             "--remove forgets every version of the file");
    if ((remove && given) || find_file(&s, args, &failure) ||
        (remove ? forget(&s, &failure) : trust(&s, given, &failure)))
        return tc_failure_tell(&failure, args, NULL);
    return tell_trust(&s, remove);
}

const struct tc_verb tc_verb_policy_trust = {
    .name = "policy trust",
    .operands = "[--digest DIGEST] [FILE]",
    .summary = "allow a policy to be used when it is found from the working directory",
    .text =
        "A toolcage.toml, .yaml or .yml found upward from the working directory is used only when "
        "its\n"
        "digest was trusted; a change must be trusted again. A file named by --policy or "
        "$TOOLCAGE_POLICY\n"
        "must be trusted only if a tool may have written it. The verb prints on standard error the "
        "grants\n"
        "that are new since the file was last trusted, and dangerous ones, and asks at a "
        "terminal.\n"
        "--digest trusts only the version with that digest: policy check, policy explain and the "
        "refusal\n"
        "of the file print the command with the digest of the version that they read.\n"
        "\n"
        "exit codes: 0 trusted, 126 not trusted: another digest, or not approved, 125 no valid "
        "policy\n"
        "\n"
        "examples:\n"
        "  toolcage policy trust toolcage.toml\n"
        "  toolcage policy trust toolcage.toml --digest sha256:1151e4f08304b4727a1d4f94886399dd\n"
        "  toolcage policy trust --remove toolcage.toml\n",
    .options = trust_options,
    .most = 1,
    .run = run_trust,
};
