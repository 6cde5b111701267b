/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/audit/past.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit/reader.h"
#include "audit/when.h"
#include "cli/show/say.h"
#include "text/shell.h"

enum { OPEN_MAX = 1000, COMMAND_MAX = 160 };

/* ---- the filter ---- */

static bool is_text(struct tc_slice value, const char *word)
{
    return !word || tc_scan_is(value, word);
}

/* Is the recorded path this one, or below it? */
static bool is_below(const char *path, const char *dir)
{
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    return !strncmp(path, dir, length) &&
           (!path[length] || path[length] == '/' || dir[length - 1] == '/');
}

/* The host of "host:port" or "[address]:port". */
static bool is_host(const char *target, const char *host)
{
    size_t length = strlen(host);
    const char *at = target[0] == '[' ? target + 1 : target;
    return !strncasecmp(at, host, length) &&
           (!at[length] || at[length] == ':' || at[length] == ']');
}

/* Has one of the objects in the list such a member? */
static bool list_has(struct tc_slice list, const char *key, const char *wanted,
                     bool (*is)(const char *said, const char *wanted))
{
    struct tc_scan_each each = tc_scan_walk(list);
    bool has = false;
    while (!has && tc_scan_next(&each)) {
        _autofree_ char *said = tc_json_text(tc_json_get(each.value, key));
        has = said && is(said, wanted);
    }
    return has;
}

/* Is a part of the list not in the log? Then the call may have what is searched. */
static bool is_cut(struct tc_slice result, const char *key)
{
    return tc_json_get(result, key).at || tc_json_get(result, "observed").at;
}

static bool has_host(const struct tc_past_call *call, const char *host)
{
    struct tc_slice usage = tc_json_get(call->result, "usage");
    return is_cut(call->result, "observed") ||
           list_has(tc_json_get(call->result, "denials"), "target", host, is_host) ||
           list_has(tc_json_get(usage, "destinations"), "target", host, is_host);
}

static bool has_path(const struct tc_past_call *call, const char *path)
{
    struct tc_slice changes = tc_json_get(call->result, "changes");
    return is_cut(call->result, "changes_left_out") ||
           list_has(tc_json_get(call->result, "denials"), "target", path, is_below) ||
           list_has(changes, "path", path, is_below) || list_has(changes, "host", path, is_below);
}

static bool is_in_time(const struct tc_past_call *call, const struct tc_past_filter *filter)
{
    _autofree_ char *time = tc_json_text(tc_json_get(call->decision, "time"));
    return time && (!filter->since || strcmp(time, filter->since) >= 0) &&
           (!filter->until || strncmp(time, filter->until, strlen(filter->until)) <= 0);
}

bool tc_past_settles(const struct tc_past_call *call)
{
    return tc_json_get(call->decision, "settlement").at;
}

static bool matches(const struct tc_past_call *call, const struct tc_past_filter *filter)
{
    _autofree_ char *status = filter->status ? tc_past_status(call) : NULL;
    return (filter->settles || !tc_past_settles(call)) &&
           is_text(tc_json_get(call->decision, "tool"), filter->tool) &&
           is_text(tc_json_get(call->decision, "call"), filter->call) &&
           (!filter->status || (status && !strcmp(status, filter->status))) &&
           is_in_time(call, filter) && (!filter->host || has_host(call, filter->host)) &&
           (!filter->path || has_path(call, filter->path));
}

/* ---- the log ---- */

int tc_past_log(const char *directory, struct tc_failure *failure)
{
    _autofree_ char *path = directory ? strdup(directory) : tc_audit_path();
    if (!path)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "set HOME or XDG_STATE_HOME",
                              "no home directory is known for the audit log");
    int dir = tc_audit_open(path, !directory);
    int saved = errno;
    if (dir >= 0)
        return dir;
    return tc_failure_set(
        failure, TOOLCAGE_ESYSTEM,
        saved == ENOENT ? "calls are recorded if their policy has the table [audit]"
        : saved == EPERM
            ? "the directory must belong to you, and nobody else may write it: what it "
              "holds could be anybody's"
            : "name the directory of a log: --directory DIR",
        "cannot read the audit log %s: %s", path, strerror(saved));
}

int tc_past_fail(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "see who owns its files",
                          "cannot read the audit log: %s", strerror(errno));
}

int tc_past_read(int dir, const struct tc_past_filter *filter, tc_past_fn *fn, void *context,
                 struct tc_failure *failure)
{
    struct tc_past past = {.filter = filter, .fn = fn, .context = context};
    struct tc_audit_cursor cursor = {.dir = dir};
    int rc = tc_audit_read(&cursor, tc_past_take, &past) < 0 ? tc_past_fail(failure) : 0;
    tc_past_rest(&past);
    if (past.damaged)
        tc_cli_say("%zu records are damaged: toolcage audit verify", past.damaged);
    if (past.memory)
        rc = tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    tc_past_done(&past);
    tc_audit_cursor_done(&cursor);
    return rc;
}

int tc_past_time(const struct tc_args *args, const char *option, char to[TC_PAST_TIME_SIZE],
                 const char **ret, struct tc_failure *failure)
{
    const char *said = tc_args_value(args, option);
    if (!said)
        return 0;
    *ret = to;
    return tc_audit_when(said, to, TC_PAST_TIME_SIZE)
               ? 0
               : tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                "write 2026-01-31, 2026-01-31T12:00 (UTC), or 30m, 2h, 7d",
                                "--%s %s is not a time", option, said);
}

/* ---- decisions and results ---- */

static bool pass(struct tc_past *past, const struct tc_past_call *call)
{
    return !matches(call, past->filter) || past->fn(past->context, call);
}

static struct tc_slice slice_of(const struct tc_past_open *open)
{
    return (struct tc_slice){open->text, open->length};
}

static void forget(struct tc_past *past, size_t at)
{
    free(past->open[at].text);
    past->open_count--;
    memmove(past->open + at, past->open + at + 1, (past->open_count - at) * sizeof(*past->open));
}

/* Keeps a decision until its result comes; of many decisions the oldest is given up. */
static bool keep(struct tc_past *past, struct tc_slice decision)
{
    bool more = true;
    if (!past->open)
        past->open = calloc(OPEN_MAX, sizeof(*past->open));
    if (past->open && past->open_count == OPEN_MAX) {
        more = pass(past, &(struct tc_past_call){.decision = slice_of(past->open)});
        forget(past, 0);
    }
    char *text = past->open ? strndup(decision.at, decision.length) : NULL;
    past->memory |= !text;
    if (text)
        past->open[past->open_count++] = (struct tc_past_open){text, decision.length};
    return more;
}

static bool is_equal(struct tc_slice a, struct tc_slice b)
{
    return a.length == b.length && (!a.length || !memcmp(a.at, b.at, a.length));
}

/* A result without its decision stands for itself. */
static bool match_result(struct tc_past *past, struct tc_slice result)
{
    static const char *const keys[] = {"call", "settlement"}; /* a call has only the first */
    for (size_t i = past->open_count; i--;) {
        struct tc_past_call call = {.decision = slice_of(&past->open[i]), .result = result};
        bool same = true;
        for (size_t k = 0; k < TC_COUNT(keys); k++)
            same =
                same && is_equal(tc_json_get(call.decision, keys[k]), tc_json_get(result, keys[k]));
        if (!same)
            continue;
        bool more = pass(past, &call);
        forget(past, i);
        return more;
    }
    return pass(past, &(struct tc_past_call){.decision = result, .result = result});
}

bool tc_past_take(void *context, const char *text, size_t length)
{
    struct tc_past *past = context;
    struct tc_slice record = tc_scan_whole(text, length), kind = tc_json_get(record, "kind");
    past->damaged += !record.at || !kind.at;
    if (!record.at || !tc_json_get(record, "call").at)
        return true;
    if (tc_scan_is(kind, "run") || tc_scan_is(kind, "settle"))
        return keep(past, record);
    if (tc_scan_is(kind, "result") || tc_scan_is(kind, "settled"))
        return match_result(past, record);
    bool alone = tc_scan_is(kind, "refused") || tc_scan_is(kind, "request");
    return !alone || pass(past, &(struct tc_past_call){.decision = record});
}

void tc_past_rest(struct tc_past *past)
{
    bool more = true;
    for (size_t i = 0; more && i < past->open_count; i++)
        more = pass(past, &(struct tc_past_call){.decision = slice_of(&past->open[i])});
}

void tc_past_done(struct tc_past *past)
{
    while (past->open_count)
        forget(past, past->open_count - 1);
    free(past->open);
    past->open = NULL;
}

/* ---- a line ---- */

char *tc_past_status(const struct tc_past_call *call)
{
    struct tc_slice status = tc_json_get(call->result.at ? call->result : call->decision, "status");
    return status.at ? tc_json_line(status) : strdup("unfinished");
}

static void put_command(FILE *out, struct tc_slice command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);
    if (!line)
        return;
    struct tc_scan_each each = tc_scan_walk(command);
    while (tc_scan_is_array(command) && tc_scan_next(&each)) {
        _autofree_ char *word = tc_json_line(each.value);
        _autofree_ char *quoted = word ? tc_shell_quote(word) : NULL;
        (void)fprintf(line, " %s", quoted ? quoted : "?");
    }
    if (tc_scan_is_object(command))
        (void)fputs(" (its digest only)", line);
    (void)fclose(line);
    size_t cut = text ? strlen(text) : 0;
    bool long_ = cut > COMMAND_MAX;
    for (cut = long_ ? COMMAND_MAX : cut; long_ && (text[cut] & 0xc0) == 0x80;)
        cut--;
    (void)fprintf(out, " %.*s%s", (int)cut, text ? text : "", long_ ? "…" : "");
    free(text);
}

static void put_settlement(FILE *out, const struct tc_past_call *call)
{
    static const char *const counts[] = {"applied", "discarded", "left"};
    _autofree_ char *action = tc_json_line(tc_json_get(call->decision, "action"));
    (void)fprintf(out, " staged changes: %s", action ? action : "?");
    for (size_t i = 0; i < TC_COUNT(counts); i++) {
        struct tc_slice count = tc_json_get(call->result, counts[i]);
        if (count.at)
            (void)fprintf(out, ", %" PRId64 " %s", tc_json_int(count, 0), counts[i]);
    }
}

/* "2026-01-31T12:00:00.123456Z" as local time. */
static void put_time(FILE *out, const char *said)
{
    struct tm tm = {0};
    char text[TC_CLI_TIME_SIZE] = "?";
    if (strptime(said, "%Y-%m-%dT%H:%M:%S", &tm))
        tc_cli_time(text, timegm(&tm), true);
    (void)fputs(text, out);
}

void tc_past_put(FILE *out, const struct tc_past_call *call)
{
    _autofree_ char *time = tc_json_text(tc_json_get(call->decision, "time"));
    _autofree_ char *id = tc_json_line(tc_json_get(call->decision, "call"));
    _autofree_ char *tool = tc_json_line(tc_json_get(call->decision, "tool"));
    _autofree_ char *status = tc_past_status(call);
    int64_t us = tc_json_int(tc_json_get(call->result, "total_us"), -1);
    put_time(out, time ? time : "");
    (void)fprintf(out, "  %s  %-10s ", id ? id : "?", status ? status : "?");
    if (us < 0)
        (void)fprintf(out, "%11s", "");
    else if (us < 10000000)
        (void)fprintf(out, "%8" PRId64 " ms", us / 1000);
    else
        (void)fprintf(out, "%9" PRId64 " s", us / 1000000);
    (void)fprintf(out, "  %s", tool ? tool : "-");
    if (tc_past_settles(call))
        put_settlement(out, call);
    else
        put_command(out, tc_json_get(call->decision, "command"));
    (void)fputc('\n', out);
}
