/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/show/foreign_options.h"
#include "cli/show/review.h"
#include "cli/show/say.h"
#include "text/shell.h"

static void say_denial(struct tc_slice denial)
{
    _autofree_ char *operation = tc_json_text(tc_json_get(denial, "operation"));
    _autofree_ char *target = tc_json_text(tc_json_get(denial, "target"));
    _autofree_ char *hint = tc_json_text(tc_json_get(denial, "hint"));
    int64_t count = tc_json_int(tc_json_get(denial, "count"), 1);
    char times[32] = "";
    if (count > 1)
        (void)snprintf(times, sizeof(times), " (%" PRId64 " times)", count);
    tc_cli_say("denied %s%s%s%s%s%s", operation ? operation : "?", target && *target ? " " : "",
               target ? target : "", times, hint && *hint ? ": " : "", hint ? hint : "");
}

/* A tool that looks before it opens never opens a path that it does not find. Only the caller
 * learns whether the path is there: this line is not part of the answer to a model. */
static void say_lookup(struct tc_slice denial, size_t *said)
{
    enum { MOST = 10 };
    _autofree_ char *operation = tc_json_text(tc_json_get(denial, "operation"));
    _autofree_ char *target = tc_json_text(tc_json_get(denial, "target"));
    struct stat st;
    if (!operation || strcmp(operation, "look") != 0 || !target || lstat(target, &st) < 0)
        return;
    _autofree_ char *word = tc_shell_quote(target);
    if (word && (*said)++ < MOST)
        tc_cli_say("looked for %s, which is here and not shown to the tool: --read %s", target,
                   word);
}

/* Failed probes that programs do without are only in the JSON. */
static void say_denials(struct tc_slice result)
{
    size_t lookups = 0;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(result, "denials"));
    while (tc_scan_next(&each))
        if (!tc_json_true(tc_json_get(each.value, "probe")))
            say_denial(each.value);
        else
            say_lookup(each.value, &lookups);
    int64_t omitted = tc_json_int(tc_json_get(tc_json_get(result, "omitted"), "denials"), 0);
    if (omitted > 0)
        tc_cli_say("denied %" PRId64 " more", omitted);
}

/* With --dry-run no change should be applied, so the line is not a warning. */
static void say_row(const struct tc_review *review, const struct tc_review_row *row, bool dry)
{
    const char *kind = row->kind, *name = tc_review_name(review, row);
    const char *would = !strcmp(kind, "added")     ? "add"
                        : !strcmp(kind, "deleted") ? "delete"
                                                   : "change";
    bool alone = !strcmp(row->held, "not committed"); /* no other reason prevents it */
    _autofree_ char *detail = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&detail, &size);
    if (!out)
        return;
    tc_review_put_detail(out, row);
    if (fclose(out))
        return;
    if (dry)
        tc_cli_say("would %s %s%s%s%s%s", would, name, detail, alone ? "" : " (",
                   alone ? "" : row->held, alone ? "" : ")");
    else
        tc_cli_say("not applied: %s %s%s (%s)", kind, name, detail, row->held);
}

static void print_summary(const struct tc_review *review)
{
    _autofree_ char *sums = tc_review_summary(review, true);
    char *rest = sums;
    for (char *line; rest && (line = strsep(&rest, "\n")) && *line;)
        tc_cli_say("%s", line);
}

static void say_dry_sum(size_t added, size_t changed, size_t deleted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    tc_review_count(out, added, "addition", "additions");
    tc_review_count(out, changed, "change", "changes");
    tc_review_count(out, deleted, "deletion", "deletions");
    if (!fclose(out))
        tc_cli_say("%s; nothing of it happened here", *text ? text : "no changes");
    free(text);
}

static int is_below(const char *above, const char *path)
{
    size_t n = above ? strlen(above) : 0;
    return n && strncmp(above, path, n) == 0 && path[n] == '/';
}

/* Prints the changes that were not applied. */
static void say_held(struct tc_slice result, bool dry, bool fine)
{
    enum { SAID = 20 };
    _autoreview_ struct tc_review review = {0};
    int64_t more = tc_json_int(tc_json_get(tc_json_get(result, "omitted"), "changes"), 0);
    size_t added = 0, deleted = 0, held = 0, said = 0;
    bool steering = false;
    const char *above =
        NULL; /* a new directory that steers the host, whose contents are not told */
    if (tc_review_make(&review, result))
        return;
    for (size_t i = 0; i < review.count; i++) {
        const struct tc_review_row *row = &review.rows[i];
        if (!row->held)
            continue;
        added += !strcmp(row->kind, "added");
        deleted += !strcmp(row->kind, "deleted");
        held++;
        bool steers = !strcmp(row->held, TOOLCAGE_HELD_STEERING);
        steering = steering || steers;
        if (tc_review_hides(&review, row) || (steers && above && is_below(above, row->path)))
            continue;
        above = steers && row->directory && !strcmp(row->kind, "added") ? row->path : above;
        if (said++ < SAID)
            say_row(&review, row, dry);
        else
            more++;
    }
    if (more > 0)
        tc_cli_say("and %" PRId64 " more changes (--json lists them)", more);
    print_summary(&review);
    _autofree_ char *call = tc_json_text(tc_json_get(result, "call"));
    if (steering && !dry && call)
        tc_cli_hint("toolcage changes %s shows them; toolcage changes %s commit --steering PATH "
                    "applies one that steers the host",
                    call, call);
    if (dry && (held ? held > 1 : fine))
        say_dry_sum(added, held - added - deleted, deleted);
}

/* Prints steering files, which the user's programs load or run automatically; of a directory only
 * itself. */
static void say_steering(struct tc_slice result)
{
    enum { SAID = 20 };
    int64_t more = 0;
    _autofree_ char *above = NULL;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(result, "changes"));
    for (int said = 0; tc_scan_next(&each);) {
        _autofree_ char *held = tc_json_text(tc_json_get(each.value, "held"));
        _autofree_ char *kind = tc_json_text(tc_json_get(each.value, "kind"));
        _autofree_ char *path = tc_json_path(each.value);
        if (held || !path || !tc_json_true(tc_json_get(each.value, "steers_host")) ||
            is_below(above, path))
            continue;
        if (said++ < SAID)
            tc_cli_say("steers the host: %s %s (%s)", kind ? kind : "?", path,
                       tc_review_is_index(path)
                           ? "git commits what it lists: remove it, then run git reset -q"
                           : "review it: your programs load or run it automatically");
        else
            more++;
        free(above);
        above = path;
        path = NULL;
    }
    if (more > 0)
        tc_cli_say("and %" PRId64 " more that steer the host (--json lists them)", more);
}

static void say_cut(struct tc_slice result, const char *stream, const char *name)
{
    struct tc_slice out = tc_json_get(result, stream);
    if (tc_json_true(tc_json_get(out, "truncated")))
        tc_cli_say("%s was truncated: the tool wrote %" PRId64 " bytes (--output SIZE keeps more)",
                   name, tc_json_int(tc_json_get(out, "bytes"), 0));
}

static void say_error(const struct toolcage_error *err, const struct tc_args *args)
{
    if (toolcage_error_code(err) == TOOLCAGE_ECOMMAND_NOT_FOUND && args->operand_count) {
        tc_cli_say("%s", toolcage_error_message(err));
        if (!tc_foreign_command_line(args->operands) && *toolcage_error_hint(err))
            tc_cli_hint("%s", toolcage_error_hint(err));
        const char *preset = tc_args_value(args, "preset"), *hint = toolcage_error_hint(err);
        if (preset && (strstr(hint, "filesystem.") || strstr(hint, "`programs`")))
            tc_cli_hint("a preset grants nothing more; a policy file can: extends = \"profile:%s\"",
                        preset);
        return;
    }
    tc_cli_error(err);
}

/* As the first line for a model has it, with the limit's value, without a note. The option has the
 * limit's name, with hyphens. */
static void say_limit(const struct toolcage_result *result)
{
    const char *limit = toolcage_result_limit(result);
    const char *line = strstr(toolcage_result_message(result), "limit: the tool reached");
    if (line)
        tc_cli_say("%.*s", (int)strcspn(line, ";\n"), line);
    _autofree_ char *option = strdup(limit);
    for (char *at = option; at && *at; at++)
        *at = *at == '_' ? '-' : *at;
    if (option)
        tc_cli_hint("more: --%s, or %s in the policy", option, limit);
}

/* An option after the command belongs to the command, which may have failed because of it. */
static void hint_at_option(const struct tc_args *args)
{
    for (size_t i = 1; args->verb->command && i < args->operand_count; i++) {
        const char *word = args->operands[i];
        size_t length = strcspn(word, "=");
        if (!strcmp(word, "--"))
            return;
        for (const struct tc_option *o = args->verb->options; o->name; o++) {
            bool ours = o->key && !strncmp(word, "--", 2) && strlen(o->name) + 2 == length &&
                        !strncmp(word + 2, o->name, length - 2);
            if (!ours)
                continue;
            tc_cli_hint("%.*s after the command is an option of %s; for toolcage write it before "
                        "the command",
                        (int)length, word, args->operands[0]);
            return;
        }
    }
}

static void hint_at_time(const struct tc_found *found)
{
    if (!found || !found->path)
        tc_cli_hint("--timeout TIME allows more time: --timeout 10m");
    else if (found->preset)
        tc_cli_hint("a policy that extends the profile allows more with a larger `timeout`");
    else
        tc_cli_hint("--timeout cannot raise it above the policy's: a larger `timeout` in %s does",
                    found->path);
}

static void say_ending(const struct toolcage_result *result, struct tc_slice json,
                       const struct tc_args *args, const struct tc_found *found)
{
    int64_t wall = tc_json_int(tc_json_get(tc_json_get(json, "usage"), "wall_ms"), 0) + 50;
    switch (toolcage_result_status(result)) {
    case TOOLCAGE_STATUS_TIMEOUT:
        tc_cli_say("timeout: ended after %" PRId64 ".%" PRId64 " s", wall / 1000,
                   wall % 1000 / 100);
        hint_at_time(found);
        break;
    case TOOLCAGE_STATUS_LIMIT:
        say_limit(result);
        break;
    case TOOLCAGE_STATUS_DENIED:
    case TOOLCAGE_STATUS_ERROR:
        say_error(toolcage_result_error(result), args);
        break;
    case TOOLCAGE_STATUS_FAILED:
        hint_at_option(args);
        break;
    case TOOLCAGE_STATUS_CANCELLED:
        tc_cli_say("cancelled");
        break;
    default:
        break;
    }
}

/* Did the options ask to apply no change? */
static bool is_dry(const struct tc_args *args)
{
    const char *commit = tc_args_value(args, "commit");
    return tc_args_has(args, "dry-run") || (commit && !strcmp(commit, "never"));
}

void tc_report(const struct toolcage_result *result, const struct tc_args *args,
               const struct tc_found *found)
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    say_denials(json);
    say_held(json, is_dry(args), toolcage_result_status(result) == TOOLCAGE_STATUS_OK);
    say_steering(json);
    say_cut(json, "stdout", "standard output");
    say_cut(json, "stderr", "standard error");
    say_ending(result, json, args, found);
}

void tc_report_notice(const struct toolcage_result *result)
{
    if (*toolcage_result_notice(result))
        tc_cli_say("%s", toolcage_result_notice(result));
}

int tc_report_json(const struct toolcage_result *result)
{
    return tc_cli_print_json(toolcage_result_json(result));
}

static void put_step(FILE *out, const char *name, int64_t us)
{
    (void)fprintf(out, "toolcage: %-20s %6" PRId64 ".%03" PRId64 " ms\n", name, us / 1000,
                  us % 1000);
}

void tc_report_timings(const struct toolcage_result *result, const struct tc_setup *setup)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    put_step(out, "policy", setup->policy_us);
    put_step(out, "engine", setup->engine_us);
    struct tc_scan_each each = tc_scan_walk(tc_json_of(toolcage_result_timings_json(result)));
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "step"));
        put_step(out, name ? name : "?", tc_json_int(tc_json_get(each.value, "us"), 0));
    }
    if (!fclose(out))
        tc_cli_stderr(text);
    free(text);
}
