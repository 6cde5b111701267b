/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb policy check: reports mistakes in a policy, and valid entries that are dangerous or
 * useless. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/lookup.h"
#include "cli/call/trust.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

enum { TC_EXIT_FINDINGS = 1, POLICY_MAX = 4 << 20 };

/* Where distributions install the list; the package is publicsuffix. */
static const char *const lists[] = {"/usr/share/publicsuffix/public_suffix_list.dat",
                                    "/usr/share/publicsuffix/effective_tld_names.dat"};

static const char *const severities[] = {"note", "warning", "error", "never"};
enum { NOTE, WARNING, NEVER = 3 };

static const struct tc_option options[] = {
    {"severity", 0, "note|warning|error", NULL,
     "the lowest severity that is shown (default: "
     "note)"},
    {"fail-on", 0, "note|warning|error|never", NULL,
     "the lowest severity that exits 1 "
     "(default: warning)"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "A policy with mistakes is refused. Findings refuse nothing: each has its id in brackets, "
    "and\n"
    "docs/lint.md says why it is reported and how to fix it. A comment on its line or the line "
    "before\n"
    "silences one, with a reason: # toolcage: allow(ID) the reason\n"
    "FILE - is standard input, in TOML; relative paths start at the working directory then.\n"
    "\n"
    "exit codes: 0 nothing found, 1 mistakes, or findings of --fail-on and above, 125 no file\n"
    "\n"
    "examples:\n"
    "  toolcage policy check\n"
    "  toolcage policy check --severity warning tools/web.toml\n"
    "  toolcage policy check --json --fail-on error tools/web.toml\n";

/* The index of the option's value, `otherwise` without one, -1 after an error message. */
static int severity(const struct tc_args *args, const char *name, int otherwise, int count)
{
    const char *value = tc_args_value(args, name);
    for (int i = 0; value && i < count; i++)
        if (!strcmp(severities[i], value))
            return i;
    if (!value)
        return otherwise;
    tc_cli_say("--%s is note, warning%s error%s, not %s", name, count > NEVER ? "," : " or",
               count > NEVER ? " or never" : "", value);
    tc_cli_hint("toolcage policy check --help says what they mean");
    return -1;
}

static int rank(struct tc_slice finding)
{
    _autofree_ char *word = tc_json_text(tc_json_get(finding, "severity"));
    for (int i = 0; word && i < NEVER; i++)
        if (!strcmp(severities[i], word))
            return i;
    return NEVER - 1;
}

static bool is_silenced(struct tc_slice finding)
{
    struct tc_slice silenced = tc_json_get(finding, "silenced");
    return silenced.at && *silenced.at == '"';
}

static bool put_findings(FILE *out, struct tc_slice all, int least, int fail_on)
{
    bool failed = false;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(all, "findings"));
    while (tc_scan_next(&each)) {
        int own = rank(each.value);
        if (is_silenced(each.value))
            continue;
        failed |= own >= fail_on;
        _autofree_ char *shown =
            own >= least ? tc_json_text(tc_json_get(each.value, "text")) : NULL;
        (void)fputs(shown ? shown : "", out);
    }
    return failed;
}

/* "FILE: 1 error, 2 notes"; "FILE: ok" if there are no errors and warnings. */
static void put_sum(FILE *out, const char *path, struct tc_slice counts)
{
    static const char *const names[] = {"error", "warning", "note", "silenced", "more"};
    const char *comma = ": ";
    int64_t worse = 0;
    for (size_t i = 0; i < 2; i++)
        worse += tc_json_int(tc_json_get(counts, names[i]), 0);
    (void)fputs(path, out);
    if (!worse) {
        (void)fputs(": ok", out);
        comma = ", ";
    }
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        int64_t count = tc_json_int(tc_json_get(counts, names[i]), 0);
        if (count)
            (void)fprintf(out, "%s%lld %s%s", comma, (long long)count, names[i],
                          i < 3 && count > 1 ? "s" : "");
        comma = count ? ", " : comma;
    }
    (void)fputc('\n', out);
}

static int print_findings(const struct tc_args *args, const char *path, const char *json, int least,
                          int fail_on)
{
    struct tc_slice all = tc_json_of(json);
    bool as_json = tc_args_has(args, "json");
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return tc_cli_no_memory();
    bool failed = put_findings(out, all, least, fail_on);
    put_sum(out, path, tc_json_get(all, "counts"));
    int rc = fclose(out) ? tc_cli_no_memory()
             : !as_json  ? tc_cli_print_painted(TC_PAINT_FINDINGS, lines)
                         : tc_cli_print_line(json);
    free(lines);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(all, "unchecked"));
    if (!rc && !as_json && tc_scan_next(&each)) {
        tc_cli_say("hosts were not compared with the public suffix list, which is not "
                   "installed");
        tc_cli_hint("install the package publicsuffix");
    }
    return rc ? rc : failed ? TC_EXIT_FINDINGS : 0;
}

static char *read_suffixes(void)
{
    char *list = NULL;
    for (size_t i = 0; !list && i < TC_COUNT(lists); i++)
        list = tc_cli_read_file(lists[i]);
    return list;
}

/* The policy to check: a file or standard input. */
struct subject {
    char *path, *text; /* NULL: not read yet */
    size_t length;
    struct toolcage_policy *policy;
};

static void subject_done(struct subject *s)
{
    free(s->path);
    free(s->text);
    (void)toolcage_policy_unref(s->policy);
}

static int load_input(struct subject *s, struct tc_failure *failure)
{
    s->path = strdup("standard input");
    s->text = s->path ? tc_cli_read_input("-", POLICY_MAX, &s->length) : NULL;
    if (!s->text)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "give a policy of at most 4 MiB",
                              "cannot read standard input: %s", strerror(errno));
    return toolcage_policy_load_buffer(s->text, s->length, s->path, &s->policy,
                                       tc_failure_error(failure));
}

static int load_subject(struct subject *s, const char *word, struct tc_failure *failure)
{
    if (word && !strcmp(word, "-"))
        return load_input(s, failure);
    s->path = tc_lookup_named(word, failure);
    return s->path ? toolcage_policy_load_file(s->path, &s->policy, tc_failure_error(failure)) : -1;
}

/* The findings of a policy without mistakes. */
static int lint(struct subject *s, char **ret, struct tc_failure *failure)
{
    _autofree_ char *suffixes = read_suffixes();
    if (!s->text)
        s->text = tc_cli_read_file(s->path);
    if (!s->text)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "check it again",
                              "%s disappeared while it was read", s->path);
    return toolcage_policy_lint_json(s->policy, s->text, strlen(s->text), suffixes,
                                     suffixes ? strlen(suffixes) : 0, ret,
                                     tc_failure_error(failure));
}

/* The digest is of the policy that was checked, even if the file has changed since. */
static void hint_at_trust(const struct subject *s)
{
    const char *digest = toolcage_policy_digest(s->policy);
    _autofailure_ struct tc_failure ignored = {0};
    _autofree_ char *real = tc_lookup_wants_trust(s->path) ? realpath(s->path, NULL) : NULL;
    _autofree_ char *command = real ? tc_trust_command(real, digest) : NULL;
    enum tc_trust trust;
    if (command && !tc_trust_check(real, digest, &trust, &ignored) && trust != TC_TRUST_YES)
        tc_cli_hint("to trust what was checked: %s", command);
}

/* A call refuses such a file when it is named by --policy. */
static void hint_at_writers(const struct subject *s)
{
    struct stat st;
    if (!stat(s->path, &st) && S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH))
        tc_cli_hint("every user can write %s, so calls refuse it: chmod o-w %s", s->path, s->path);
}

static int tell_mistakes(const struct tc_failure *failure, const struct tc_args *args)
{
    const char *file = "";
    toolcage_error_location(failure->error, &file, NULL, NULL);
    int code = tc_failure_tell(failure, args, NULL);
    bool mistakes = toolcage_error_code(failure->error) == TOOLCAGE_EPOLICY && *file;
    return mistakes ? TC_EXIT_FINDINGS : code;
}

static int run_check(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    __attribute__((cleanup(subject_done))) struct subject subject = {0};
    char *json = NULL;
    int least = severity(args, "severity", NOTE, NEVER);
    int fail_on = severity(args, "fail-on", WARNING, NEVER + 1);
    if (least < 0 || fail_on < 0)
        return TC_EXIT_FAILURE;
    if (load_subject(&subject, args->operands[0], &failure))
        return tell_mistakes(&failure, args);
    int rc = lint(&subject, &json, &failure);
    rc = rc ? tc_failure_tell(&failure, args, NULL)
            : print_findings(args, subject.path, json, least, fail_on);
    if (json && !tc_args_has(args, "json")) {
        hint_at_writers(&subject);
        hint_at_trust(&subject);
    }
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_check = {
    .name = "policy check",
    .operands = "[options] [FILE]",
    .summary = "find every mistake in a policy file, and what is dangerous there",
    .text = text,
    .options = options,
    .most = 1,
    .run = run_check,
};
