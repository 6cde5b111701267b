/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clean.h"
#include "cli/habits.h"
#include "cli/json.h"
#include "cli/say.h"

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

/* Probes that programs make and do without are in the JSON only. */
static void say_denials(struct tc_slice result)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(result, "denials"));
    while (tc_scan_next(&each))
        if (!tc_json_true(tc_json_get(each.value, "probe")))
            say_denial(each.value);
    int64_t omitted = tc_json_int(tc_json_get(tc_json_get(result, "omitted"), "denials"), 0);
    if (omitted > 0)
        tc_cli_say("denied %" PRId64 " more", omitted);
}

/* What the tool changed and this machine did not see. */
static void say_held(struct tc_slice result)
{
    enum { SAID = 20 };
    struct tc_scan_each each = tc_scan_walk(tc_json_get(result, "changes"));
    int64_t more = tc_json_int(tc_json_get(tc_json_get(result, "omitted"), "changes"), 0);
    for (int said = 0; tc_scan_next(&each);) {
        _autofree_ char *held = tc_json_text(tc_json_get(each.value, "held"));
        _autofree_ char *kind = tc_json_text(tc_json_get(each.value, "kind"));
        _autofree_ char *path = tc_json_path(each.value);
        if (!held)
            continue;
        if (said++ < SAID)
            tc_cli_say("not applied: %s %s (%s)", kind ? kind : "?", path ? path : "?", held);
        else
            more++;
    }
    if (more > 0)
        tc_cli_say("and %" PRId64 " more changes (--json lists them)", more);
}

static int is_below(const char *above, const char *path)
{
    size_t n = above ? strlen(above) : 0;
    return n && strncmp(above, path, n) == 0 && path[n] == '/';
}

/* What a program of the user will obey unasked; of a directory, itself alone. */
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
            tc_cli_say("steers the host: %s %s (look at it: your programs run or obey it unasked)",
                       kind ? kind : "?", path);
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
        tc_cli_say("%s was cut: the tool wrote %" PRId64 " bytes (--output SIZE keeps more)", name,
                   tc_json_int(tc_json_get(out, "bytes"), 0));
}

static void say_error(const struct toolcage_error *err, char *const words[])
{
    if (toolcage_error_code(err) == TOOLCAGE_ECOMMAND_NOT_FOUND && words[0]) {
        tc_cli_say("%s", toolcage_error_message(err));
        if (!tc_habit_one_word(words) && *toolcage_error_hint(err))
            tc_cli_hint("%s", toolcage_error_hint(err));
        return;
    }
    tc_cli_error(err);
}

static void say_ending(const struct toolcage_result *result, struct tc_slice json,
                       char *const words[])
{
    int64_t wall = tc_json_int(tc_json_get(tc_json_get(json, "usage"), "wall_ms"), 0) + 50;
    switch (toolcage_result_status(result)) {
    case TOOLCAGE_STATUS_TIMEOUT:
        tc_cli_say("timeout: ended after %" PRId64 ".%" PRId64 " s", wall / 1000,
                   wall % 1000 / 100);
        tc_cli_hint("--timeout TIME, within what the policy allows");
        break;
    case TOOLCAGE_STATUS_LIMIT:
        tc_cli_say("limit: the tool reached its %s limit", toolcage_result_limit(result));
        break;
    case TOOLCAGE_STATUS_DENIED:
    case TOOLCAGE_STATUS_ERROR:
        say_error(toolcage_result_error(result), words);
        break;
    case TOOLCAGE_STATUS_CANCELLED:
        tc_cli_say("cancelled");
        break;
    default:
        break;
    }
}

void tc_report(const struct toolcage_result *result, char *const words[])
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    say_denials(json);
    say_held(json);
    say_steering(json);
    say_cut(json, "stdout", "standard output");
    say_cut(json, "stderr", "standard error");
    say_ending(result, json, words);
}

void tc_report_notice(const struct toolcage_result *result)
{
    if (*toolcage_result_notice(result))
        tc_cli_say("%s", toolcage_result_notice(result));
}

int tc_report_json(const struct toolcage_result *result)
{
    const char *json = toolcage_result_json(result);
    _autofree_ char *line = NULL;
    int length = asprintf(&line, "%s\n", json);
    if (length < 0) {
        line = NULL;
        return tc_cli_no_memory();
    }
    if (!isatty(STDOUT_FILENO))
        return tc_cli_print(line, (size_t)length);
    size_t shown;
    _autofree_ char *clean = tc_clean(TC_CLEAN_JSON, line, (size_t)length, &shown);
    return clean ? tc_cli_print(clean, shown) : tc_cli_no_memory();
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
