/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage session`: lists and ends sessions, stored and live. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/live/client.h"
#include "cli/live/place.h"
#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

static const struct tc_option options[] = {
    {"all", 0, NULL, NULL, "with end: every session that no call is using"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "A call with --session NAME finds the private /tmp as the last call of that session left "
    "it, and the\n"
    "uncommitted changes of an overlaid workspace. Every call of a session has the same grant.\n"
    "A session stays until it is ended; its age is the time since its last call.\n"
    "A live session is a cage that stays: toolcage session start --help. end --all does not end "
    "these.\n"
    "\n"
    "examples:\n"
    "  toolcage exec --session work sh -c 'date > /tmp/note'\n"
    "  toolcage exec --session work cat /tmp/note\n"
    "  toolcage session list\n"
    "  toolcage session end work\n"
    "  toolcage session end --all\n";

static void put_age(char *to, size_t size, int64_t used)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    int64_t age = (int64_t)time(NULL) - used;
    size_t i = 0;
    age = age < 0 ? 0 : age;
    while (i + 1 < TC_COUNT(units) && age < units[i].seconds)
        i++;
    (void)snprintf(to, size, "%" PRId64 "%s", age / units[i].seconds, units[i].unit);
}

static void put_row(FILE *out, struct tc_slice row)
{
    _autofree_ char *name = tc_json_text(tc_json_get(row, "name"));
    _autofree_ char *tool = tc_json_text(tc_json_get(row, "tool"));
    time_t used = (time_t)tc_json_int(tc_json_get(row, "used"), 0);
    char age[32], size[32], when[TC_CLI_TIME_SIZE];
    put_age(age, sizeof(age), used);
    tc_table_size(size, sizeof(size), tc_json_int(tc_json_get(row, "bytes"), 0));
    tc_cli_time(when, used, false);
    (void)fprintf(out, "%-20s  %-20s  %5" PRId64 "  %9s  %s  %s\n", name ? name : "?",
                  tool ? tool : "-", tc_json_int(tc_json_get(row, "calls"), 0), size, when, age);
}

/* Returns the number of rows. */
static size_t put_table(FILE *out, struct tc_slice answer, bool ended)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "sessions"));
    size_t count = 0;
    for (; tc_scan_next(&each); count++) {
        if (!count && !ended)
            (void)fprintf(out, "%-20s  %-20s  %5s  %9s  %-16s  %s\n", "session", "tool", "calls",
                          "size", "last used", "age");
        if (!ended) {
            put_row(out, each.value);
            continue;
        }
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "name"));
        (void)fprintf(out, "ended %s\n", name ? name : "?");
    }
    return count;
}

static void put_live(FILE *out, const char *name, struct tc_slice info)
{
    _autofree_ char *tool = tc_json_text(tc_json_get(info, "tool"));
    char age[32];
    put_age(age, sizeof(age), tc_json_int(tc_json_get(info, "started"), 0));
    if (info.at)
        (void)fprintf(out, "%-20s  %-20s  %8" PRId64 "  %7" PRId64 "  %s\n", name,
                      tool ? tool : "-", tc_json_int(tc_json_get(info, "commands"), 0),
                      tc_json_int(tc_json_get(info, "pid"), 0), age);
    else
        (void)fprintf(out, "%-20s  does not answer\n", name);
}

/* Lists the live sessions before the stored ones, as rows or as members of the JSON. */
static int list_live(FILE *out, bool json, size_t *ret_count, struct tc_failure *failure)
{
    char **names = tc_place_list(failure);
    for (*ret_count = 0; names && names[*ret_count]; (*ret_count)++) {
        const char *name = names[*ret_count];
        _autofree_ char *info = tc_client_info(name);
        if (json)
            (void)fprintf(out, "%s%s", *ret_count ? "," : "", info ? info : "null");
        if (!json && !*ret_count)
            (void)fprintf(out, "%-20s  %-20s  %8s  %7s  %s\n", "live session", "tool", "commands",
                          "pid", "age");
        if (!json)
            put_live(out, name, tc_json_of(info ? info : ""));
    }
    tc_place_list_free(names);
    return names ? 0 : -1;
}

static int print(const struct tc_args *args, const char *json, bool ended,
                 struct tc_failure *failure)
{
    char *all = NULL;
    size_t size = 0, count = 0, live = 0;
    FILE *out = open_memstream(&all, &size);
    bool plain = tc_args_has(args, "json"), whole = true;
    if (!out)
        return tc_cli_no_memory();
    if (plain && !ended)
        (void)fputs("{\"live\":[", out);
    if (!ended)
        whole = !list_live(out, plain, &live, failure);
    if (plain)
        (void)fprintf(out, "%s%s\n", ended ? "" : "],", json + !ended);
    else if (live)
        (void)fputc('\n', out);
    if (!plain)
        count = put_table(out, tc_json_of(json), ended);
    if (!whole) {
        free(tc_cli_text(out, &all));
        return tc_failure_tell(failure, args, NULL);
    }
    enum tc_paint paint = tc_args_has(args, "json") ? TC_PAINT_NOTHING : TC_PAINT_ROWS;
    int rc = tc_cli_print_text(paint, out, &all);
    if (!rc && !count && !live && !plain)
        tc_cli_hint("there is no session%s; toolcage exec --session NAME stores one, toolcage "
                    "session start NAME starts a live one",
                    ended ? " to end" : "");
    return rc;
}

/* The action; NULL after an error message. */
static const char *action_of(const struct tc_args *args, struct tc_failure *failure)
{
    const char *word = args->operand_count ? args->operands[0] : "list";
    bool all = tc_args_has(args, "all"), end = !strcmp(word, "end");
    if (!end && strcmp(word, "list") != 0)
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                             "write start, exec, logs, attach, wait, signal, ports, list or end",
                             "session has no action \"%s\"", word);
    else if (!end && (all || args->operand_count > 1))
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage session end NAME",
                             "list lists all of them and takes no name");
    else if (end && all == (args->operand_count > 1))
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                             "toolcage session end NAME, or toolcage session end --all",
                             "end needs one name, or --all");
    else
        return word;
    return NULL;
}

static int run_sessions(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_engine *engine = NULL;
    char *json = NULL;
    const char *action = action_of(args, &failure);
    const char *name = args->operand_count > 1 ? args->operands[1] : NULL;
    bool stored = true;
    int code = action && name ? tc_client_end(args, name, &stored) : 0;
    if (!stored)
        return code;
    if (!action || toolcage_engine_new(&engine, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    struct toolcage_error **err = tc_failure_error(&failure);
    bool ends = action[0] == 'e';
    int asked = ends ? toolcage_engine_end_sessions_json(engine, name, &json, err)
                     : toolcage_engine_sessions_json(engine, &json, err);
    int rc = asked < 0 ? tc_failure_tell(&failure, args, NULL) : print(args, json, ends, &failure);
    toolcage_free(json);
    (void)toolcage_engine_unref(engine);
    return rc;
}

const struct tc_verb tc_verb_session = {
    .name = "session",
    .operands = "[start | exec | ports | list | end NAME | end --all]",
    .summary = "live sessions, and what calls with --session keep: start, exec, list, end",
    .text = text,
    .options = options,
    .least = 0,
    .most = 2,
    .run = run_sessions,
};
