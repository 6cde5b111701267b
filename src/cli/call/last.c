/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/last.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/call/replace.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

static bool matters(struct tc_slice denials)
{
    for (struct tc_scan_each each = tc_scan_walk(denials); tc_scan_next(&each);)
        if (!tc_json_true(tc_json_get(each.value, "probe")))
            return true;
    return false;
}

static void add_member(FILE *out, const char *key, const char *value)
{
    (void)fprintf(out, "\"%s\":", key);
    if (value)
        tc_cli_json_string(out, value);
    else
        (void)fputs("null", out);
    (void)fputc(',', out);
}

static void keep_record(const char *policy, const char *tool, struct tc_slice result,
                        struct tc_slice denials)
{
    _autofree_ char *call = tc_json_text(tc_json_get(result, "call"));
    _autofree_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    (void)fputc('{', out);
    add_member(out, "policy", policy);
    add_member(out, "tool", tool);
    add_member(out, "call", call);
    (void)fprintf(out, "\"time\":%" PRId64 ",", (int64_t)time(NULL));
    (void)fprintf(out, "\"denials\":%.*s}\n", (int)denials.length, denials.at);
    bool whole = !ferror(out);
    if (!fclose(out) && whole)
        (void)tc_record_keep("last-denials", text, length);
}

void tc_last_keep(const struct tc_setup *setup, const char *tool,
                  const struct toolcage_result *result)
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    struct tc_slice denials = tc_json_get(json, "denials");
    if (!matters(denials) || denials.length > INT_MAX)
        return;
    _autofree_ char *path = setup->found.path ? realpath(setup->found.path, NULL) : NULL;
    if ((path || !setup->found.path) && !setup->found.preset)
        keep_record(path, tool, json, denials);
}

void tc_last_say(struct tc_slice record)
{
    _autofree_ char *call = tc_json_line(tc_json_get(record, "call"));
    _autofree_ char *tool = tc_json_line(tc_json_get(record, "tool"));
    _autofree_ char *policy = tc_json_line(tc_json_get(record, "policy"));
    char when[TC_CLI_TIME_SIZE];
    if (!call)
        return;
    tc_cli_time(when, tc_json_int(tc_json_get(record, "time"), 0), true);
    tc_cli_say("denied to call %s at %s, of %s%s under %s", call, when,
               tool ? "tool " : "a command", tool ? tool : "", policy ? policy : "no policy file");
}

char *tc_last_read(struct tc_failure *failure)
{
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", "last-denials");
    const char *what = "no HOME";
    _autofree_ char *text = path ? tc_record_read(path, &what) : NULL;
    if (!text) {
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                             "make it a file that only you can write, or remove it",
                             "cannot read what was denied last, %s: %s", path ? path : "", what);
        return NULL;
    }
    if (!*text || !tc_json_of(text).at) {
        (void)tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                             "run the call again with --why: toolcage exec --why …, toolcage call "
                             "--why …",
                             "none of your calls was denied anything yet");
        return NULL;
    }
    char *taken = text;
    text = NULL;
    return taken;
}

static bool is_changes(const char *what)
{
    return strcmp(what, "changes") == 0;
}

static const char *name_of(const char *what)
{
    return is_changes(what) ? "viewed-changes" : "viewed-denials";
}

void tc_viewed_keep(const char *what, const char *call)
{
    (void)tc_record_keep(name_of(what), call, strlen(call));
}

int tc_viewed_check(const char *what, const char *call, struct tc_failure *failure)
{
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", name_of(what));
    const char *why = "";
    _autofree_ char *record = path ? tc_record_read(path, &why) : NULL;
    const char *viewed = record ? record : "";
    _autofree_ char *hint =
        tc_cli_format("toolcage %s %s shows them", is_changes(what) ? "changes" : "allow", call);
    if (*viewed && strcmp(viewed, call) == 0)
        return 0;
    if (!*viewed)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                              "the %s of the last call, %s, were not viewed yet", what, call);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "the last call with %s is %s, but those of %s were viewed last", what,
                          call, viewed);
}
