/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/answer.h"

#include <inttypes.h>
#include <string.h>

#include "cli/show/fold.h"
#include "cli/show/io.h"
#include "cli/show/say.h"
#include "text/utf8.h"

enum { LABEL = 10, LINE_WIDTH = 98, QUOTED = 160 };

static void put_label(FILE *out, const char *label, const char *words)
{
    (void)fprintf(out, "%-*s", LABEL, label);
    tc_cli_wrap(out, words, LABEL, tc_fold_most(LINE_WIDTH));
}

/* ---- the policy's own words ---- */

/* Where line `number` begins, or NULL. */
static const char *find_line(const char *text, int64_t number)
{
    for (int64_t n = 1; text && n < number; n++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text;
}

/* The entry in its line; the port of an endpoint may be left out there. *ret_length is how much. */
static const char *find_entry(const char *line, const char *end, const char *entry,
                              size_t *ret_length)
{
    *ret_length = entry ? strlen(entry) : 0;
    const char *found = *ret_length ? memmem(line, (size_t)(end - line), entry, *ret_length) : NULL;
    const char *colon = *ret_length && !found ? strrchr(entry, ':') : NULL;
    if (!colon || colon == entry)
        return found;
    *ret_length = (size_t)(colon - entry);
    return memmem(line, (size_t)(end - line), entry, *ret_length);
}

static void put_caret(FILE *out, const char *from, const char *found, size_t length)
{
    (void)fputs("      | ", out);
    for (const char *at = from; at < found; at++)
        if (!tc_utf8_continues(*at))
            (void)fputc(*at == '\t' ? '\t' : ' ', out);
    (void)fputc('^', out);
    for (size_t i = tc_utf8_count(found, length); i > 1; i--)
        (void)fputc('~', out);
    (void)fputc('\n', out);
}

/* The line with a caret below the entry that decides; what is shipped is no file. A long line is
 * shown from a little before. */
static void put_quote(FILE *out, const char *path, int64_t number, const char *entry)
{
    bool shipped = path && !strncmp(path, "profile:", strlen("profile:"));
    _autofree_ char *text = path && !shipped ? tc_cli_read_file(path) : NULL;
    const char *line = number > 0 ? find_line(text, number) : NULL;
    if (!line)
        return;
    size_t length;
    const char *end = line + strcspn(line, "\r\n");
    const char *found = find_entry(line, end, entry, &length);
    const char *from = found && found - line > QUOTED / 2 ? found - QUOTED / 2 : line;
    while (from > line && tc_utf8_continues(*from))
        from++;
    size_t shown = (size_t)(end - from) > QUOTED ? QUOTED : (size_t)(end - from);
    (void)fprintf(out, "%5" PRId64 " | %.*s\n", number, (int)shown, from);
    if (found)
        put_caret(out, from, found, length);
}

static const char *whose(const char *key, int64_t line, const struct tc_setup *setup)
{
    if (!*key)
        return "what every cage has, whatever the policy";
    if (!setup->found.path)
        return "the default without a policy, and the options of this call";
    if (line <= 0)
        return strchr(key, '.') ? "no key sets it: the default is none"
                                : "toolcage's own rule, which no policy can change";
    return !strncmp(key, "defaults.", strlen("defaults.")) ? "inherited from [defaults]"
                                                           : "set by the tool itself";
}

static void put_key(FILE *out, const struct tc_setup *setup, const char *key, int64_t line,
                    const char *file)
{
    char *words = NULL;
    int n = line > 0 ? asprintf(&words, "%s, line %" PRId64 "%s%s: %s", key, line,
                                file ? " of " : "", file ? file : "", whose(key, line, setup))
            : *key   ? asprintf(&words, "%s: %s", key, whose(key, line, setup))
                     : asprintf(&words, "%s", whose(key, line, setup));
    if (n >= 0)
        put_label(out, "by", words);
    if (n >= 0)
        free(words);
}

/* The other files that made this line count, and the ceiling that the grant was held against. */
static void put_files(FILE *out, struct tc_slice grant)
{
    struct tc_scan_each each =
        tc_scan_walk(tc_json_get(tc_json_get(grant, "verdict"), "extended_by"));
    _autofree_ char *within = tc_json_line(tc_json_get(grant, "within"));
    char *words = NULL;
    while (tc_scan_next(&each)) {
        _autofree_ char *file = tc_json_line(tc_json_get(each.value, "file"));
        int64_t line = tc_json_int(tc_json_get(each.value, "line"), 0);
        if (asprintf(&words, "by %s, line %" PRId64, file ? file : "", line) < 0)
            return;
        put_label(out, "extended", words);
        free(words);
    }
    if (!within || asprintf(&words, "%s: it gives all of this grant, too", within) < 0)
        return;
    put_label(out, "within", words);
    free(words);
}

/* ---- what holds it ---- */

static void put_backend(FILE *out, struct tc_slice grant)
{
    struct tc_slice by = tc_json_get(grant, "chosen_by");
    _autofree_ char *name = tc_json_text(tc_json_get(grant, "backend"));
    _autofree_ char *why = tc_json_text(tc_json_get(by, "why"));
    _autofree_ char *key = tc_json_text(tc_json_get(by, "key"));
    _autofree_ char *file = tc_json_line(tc_json_get(by, "file"));
    int64_t line = tc_json_int(tc_json_get(by, "line"), 0);
    char *words = NULL;
    if (!name || !why || !key)
        return;
    int n = line > 0 ? asprintf(&words, "%s: %s (%s, line %" PRId64 "%s%s)", name, why, key, line,
                                file ? " of " : "", file ? file : "")
                     : asprintf(&words, "%s: %s", name, why);
    if (n < 0)
        return;
    put_label(out, "backend", words);
    free(words);
}

/* The row of what the doctor found whose `key` is `name`; absent when there is none. */
static struct tc_slice find_row(struct tc_slice rows, const char *key, const char *name)
{
    struct tc_scan_each each = tc_scan_walk(rows);
    while (tc_scan_next(&each)) {
        _autofree_ char *own = tc_json_text(tc_json_get(each.value, key));
        if (own && !strcmp(own, name))
            return each.value;
    }
    return (struct tc_slice){0};
}

/* What the trial of this machine found: of the process backend each clause, of others whether they
 * start at all. */
static char *mechanism_here(const struct tc_setup *setup, const char *backend, const char *clause)
{
    char *json = NULL, *words = NULL;
    if (!strcmp(backend, "not-a-security-boundary"))
        return strdup("nothing: this backend enforces nothing");
    if (toolcage_engine_doctor_json(setup->engine, &json, NULL))
        return strdup("unknown: the machine could not be checked (toolcage doctor)");
    struct tc_slice report = tc_json_of(json);
    bool process = !strcmp(backend, "process");
    struct tc_slice row = process ? find_row(tc_json_get(report, "clauses"), "clause", clause)
                                  : find_row(tc_json_get(report, "backends"), "backend", backend);
    bool works = tc_json_true(tc_json_get(row, "works"));
    _autofree_ char *how = tc_json_text(tc_json_get(row, works ? "mechanism" : "reason"));
    int n = 0;
    if (!row.at)
        words = strdup("nothing here, so the call is refused: that backend is not available");
    else if (!works)
        n = asprintf(&words, "nothing here, so the call is refused: %s", how ? how : "");
    else if (process)
        words = strdup(how ? how : "");
    else
        n = asprintf(&words, "%s (%s), or the call is refused", backend,
                     how ? how : "it starts here");
    toolcage_free(json);
    return n < 0 ? NULL : words;
}

bool tc_answer_is_yes(struct tc_slice grant)
{
    struct tc_slice here = tc_json_get(grant, "here");
    return tc_json_true(tc_json_get(tc_json_get(grant, "verdict"), "allowed")) &&
           (!here.at || tc_json_true(tc_json_get(here, "held")));
}

/* Of several backends the one that holds it. */
static char *holder(struct tc_slice grant)
{
    struct tc_slice here = tc_json_get(grant, "here");
    return tc_json_true(tc_json_get(here, "held")) ? tc_json_text(tc_json_get(here, "backend"))
                                                   : tc_json_text(tc_json_get(grant, "backend"));
}

static void put_nothing(FILE *out, struct tc_slice grant)
{
    _autofree_ char *clause = tc_json_text(tc_json_get(tc_json_get(grant, "verdict"), "clause"));
    _autofree_ char *why = tc_json_line(tc_json_get(tc_json_get(grant, "here"), "reason"));
    char *words = NULL;
    if (!clause || !why || asprintf(&words, "%s: nothing here: %s", clause, why) < 0)
        return;
    put_label(out, "held by", words);
    free(words);
}

static void put_mechanism(FILE *out, const struct tc_setup *setup, struct tc_slice grant)
{
    _autofree_ char *backend = holder(grant);
    _autofree_ char *clause = tc_json_text(tc_json_get(tc_json_get(grant, "verdict"), "clause"));
    _autofree_ char *how = backend && clause ? mechanism_here(setup, backend, clause) : NULL;
    char *words = NULL;
    if (!how || asprintf(&words, "%s: %s", clause, how) < 0)
        return;
    put_label(out, "held by", words);
    free(words);
}

static void put_tier(FILE *out, struct tc_slice grant)
{
    _autofree_ char *tier = tc_json_text(tc_json_get(grant, "tier"));
    char *words = NULL;
    bool asks = tc_json_true(tc_json_get(grant, "approval"));
    if (!tier ||
        asprintf(&words, "%s%s", tier, asks ? ": a person must approve each call" : "") < 0)
        return;
    put_label(out, "tier", words);
    free(words);
}

void tc_answer_put(FILE *out, const struct tc_setup *setup, const char *access,
                   struct tc_slice grant)
{
    struct tc_slice verdict = tc_json_get(grant, "verdict");
    _autofree_ char *reason = tc_json_line(tc_json_get(verdict, "reason"));
    _autofree_ char *key = tc_json_text(tc_json_get(verdict, "key"));
    _autofree_ char *hint = tc_json_line(tc_json_get(verdict, "hint"));
    _autofree_ char *entry = tc_json_text(tc_json_get(verdict, "entry"));
    _autofree_ char *file = tc_json_text(tc_json_get(verdict, "file"));
    int64_t line = tc_json_int(tc_json_get(verdict, "line"), 0);
    bool allowed = tc_json_true(tc_json_get(verdict, "allowed")), yes = tc_answer_is_yes(grant);
    (void)fprintf(out, "%s: %s",
                  yes       ? "allowed"
                  : allowed ? "refused here"
                            : "denied",
                  reason && *reason ? reason : access);
    if (key && *key && line > 0)
        (void)fprintf(out, " (%s, line %" PRId64 "%s%s)", key, line, file ? " of " : "",
                      file ? file : "");
    (void)fputc('\n', out);
    put_quote(out, file ? file : setup->found.path, line, entry);
    put_key(out, setup, key ? key : "", line, file);
    put_files(out, grant);
    put_tier(out, grant);
    put_backend(out, grant);
    if (allowed && !yes)
        put_nothing(out, grant);
    else
        put_mechanism(out, setup, grant);
    if (allowed && !yes)
        (void)fputs("hint: toolcage doctor lists what this machine can enforce\n", out);
    if (hint && *hint)
        (void)fprintf(out, "hint: %s\n", hint);
}
