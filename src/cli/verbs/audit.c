/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage audit`: shows and checks the log of all calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/verify.h"
#include "audit/when.h"
#include "cli/audit/past.h"
#include "cli/call/lookup.h"
#include "cli/show/failure.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

enum { EXIT_FAULTS = 1, USUAL_LIMIT = 20, LIMIT_MAX = 1000000, FOLLOW_MS = 250 };

static const struct tc_option options[] = {
    {"tool", 0, "NAME", NULL, "only calls of this tool"},
    {"status", 0, "WORD", NULL,
     "only calls that ended so: ok, failed, timeout, limit, denied, cancelled, error, unfinished"},
    {"since", 0, "TIME", NULL,
     "only calls from then on: 2026-01-31, 2026-01-31T12:00 (UTC), 2h, 7d"},
    {"until", 0, "TIME", NULL, "only calls up to then"},
    {"host", 0, "NAME", NULL, "only calls that reached this host, or were refused it"},
    {"path", 0, "PATH", NULL, "only calls that changed this path or one below, or were refused it"},
    {"limit", 'n', "NUMBER", NULL, "with list: so many of the newest calls (default 20; 0: all)"},
    {"anchor", 0, "FILE", NULL, "with verify: also compare the anchor file of the policy"},
    {"policy", 0, "FILE", NULL, "with replay: the policy to run under"},
    {"last", 0, "NUMBER", NULL, "with replay: so many of the newest calls"},
    {"directory", 0, "DIR", NULL, "another log than yours, such as a copy"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "A policy with the table [audit] records each call in the log of the user who runs it: the "
    "decision\n"
    "before anything runs, and the result. Records are linked by hashes; verify finds one that was "
    "changed,\n"
    "removed, doubled or moved, and with --anchor also a log whose end was cut off. check says "
    "which\n"
    "recorded calls another policy would refuse, or what they did; nothing runs. stats counts, "
    "follow\n"
    "shows calls as they end, otlp prints them as spans of OpenTelemetry. With --json each call is "
    "one\n"
    "line: {\"decision\":…,\"result\":…}.\n"
    "\n"
    "With record = \"inputs\" in [audit], replay runs recorded calls again, each in a copy of its "
    "workspace\n"
    "as it was, and says which end as recorded. Requests are answered from the record, and nothing "
    "else\n"
    "is reached. Nothing is written to the host.\n"
    "prune removes what is kept for replays of the calls up to a time.\n"
    "\n"
    "examples:\n"
    "  toolcage audit                         the last 20 calls\n"
    "  toolcage audit list --status denied --since 1d\n"
    "  toolcage audit list --host example.com --json\n"
    "  toolcage audit show 01JD8XKQ7PZ3T5V9WYB2C4D6E8\n"
    "  toolcage audit verify --anchor /mnt/log/toolcage.anchor\n"
    "  toolcage audit check proposed.toml --since 7d\n"
    "  toolcage audit replay 01JD8XKQ7PZ3T5V9WYB2C4D6E8 --policy proposed.toml\n"
    "  toolcage audit replay --last 50 --policy proposed.toml\n"
    "  toolcage audit prune --until 30d\n"
    "  toolcage audit stats --since 7d\n"
    "  toolcage audit follow\n"
    "  toolcage audit otlp --since 5m | curl --json @- http://127.0.0.1:4318/v1/traces\n";

/* One run of the verb. */
struct audit {
    const struct tc_args *args;
    struct tc_failure *failure;
    struct tc_past_filter filter;
    char since[TC_PAST_TIME_SIZE], until[TC_PAST_TIME_SIZE];
    size_t limit;
    bool json;
    int dir;
    size_t count; /* calls so far */
    /* list: the newest calls, and as many others */
    struct newest {
        char *time, *line;
    } * newest;
    size_t kept;
    int printed; /* an exit code: the output cannot be written */
};

/* ---- the log ---- */

static int read_number(struct audit *a, const char *option, size_t *ret)
{
    const char *said = tc_args_value(a->args, option);
    bool all = !strcmp(option, "limit");
    char *end = NULL;
    unsigned long long number = strtoull(said, &end, 10);
    if (end == said || *end || said[0] == '-' || number > LIMIT_MAX || (!number && !all))
        return tc_failure_set(a->failure, TOOLCAGE_EUSAGE,
                              all ? "write a number up to 1000000; 0: all"
                                  : "write a number from 1 to 1000000",
                              "--%s %s is not a number of calls", option, said);
    *ret = (size_t)number;
    return 0;
}

static int fail_memory(struct audit *a)
{
    return tc_failure_set(a->failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
}

static int open_log(struct audit *a)
{
    a->dir = tc_past_log(tc_args_value(a->args, "directory"), a->failure);
    return a->dir < 0 ? -1 : 0;
}

/* Passes the calls that match to `fn`. */
static int read_calls(struct audit *a, tc_past_fn *fn, void *context)
{
    return tc_past_read(a->dir, &a->filter, fn, context, a->failure);
}

/* ---- list ---- */

/* The call as a line; owned, NULL if memory is exhausted. */
static char *line_of(const struct audit *a, const struct tc_past_call *call)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    if (a->json && call->result.at)
        (void)fprintf(out, "{\"decision\":%.*s,\"result\":%.*s}", (int)call->decision.length,
                      call->decision.at, (int)call->result.length, call->result.at);
    else if (a->json)
        (void)fprintf(out, "{\"decision\":%.*s,\"result\":null}", (int)call->decision.length,
                      call->decision.at);
    else
        tc_past_put(out, call);
    return tc_cli_text(out, &line);
}

static int print_line(const struct audit *a, const char *line)
{
    return a->json ? tc_cli_print_json(line) : tc_cli_print_painted(TC_PAINT_ROWS, line);
}

static bool print_call(void *context, const struct tc_past_call *call)
{
    struct audit *a = context;
    _autofree_ char *line = line_of(a, call);
    a->count++;
    a->printed = line ? print_line(a, line) : tc_cli_no_memory();
    return !a->printed;
}

/* By the time of the decision, the newest first: calls end in another order. */
static int compare_newest(const void *x, const void *y)
{
    return strcmp(((const struct newest *)y)->time, ((const struct newest *)x)->time);
}

static void forget_oldest(struct audit *a)
{
    qsort(a->newest, a->kept, sizeof(*a->newest), compare_newest);
    for (; a->kept > a->limit; a->kept--) {
        free(a->newest[a->kept - 1].time);
        free(a->newest[a->kept - 1].line);
    }
}

static bool keep_call(void *context, const struct tc_past_call *call)
{
    struct audit *a = context;
    struct newest *n = &a->newest[a->kept];
    a->count++;
    n->time = tc_json_text(tc_json_get(call->decision, "time"));
    n->line = n->time ? line_of(a, call) : NULL;
    if (!n->line) {
        free(n->time);
        return false;
    }
    if (++a->kept == 2 * a->limit)
        forget_oldest(a);
    return true;
}

static int list_newest(struct audit *a)
{
    a->newest = calloc(2 * a->limit, sizeof(*a->newest));
    if (!a->newest)
        return fail_memory(a);
    int rc = read_calls(a, keep_call, a);
    forget_oldest(a);
    for (size_t i = a->kept; i-- > 0;) {
        if (!rc && !a->printed)
            a->printed = print_line(a, a->newest[i].line);
        free(a->newest[i].time);
        free(a->newest[i].line);
    }
    free(a->newest);
    if (!rc && a->count > a->limit)
        tc_cli_say("%zu older calls are not shown: --limit 0 shows all", a->count - a->limit);
    return rc;
}

static int list_calls(struct audit *a)
{
    a->filter.settles = true;
    int rc = a->limit ? list_newest(a) : read_calls(a, print_call, a);
    if (!rc && !a->count && !a->json)
        tc_cli_say("the log has no such call");
    return rc ? rc : a->printed;
}

/* ---- show ---- */

static bool show_call(void *context, const struct tc_past_call *call)
{
    static const char *const chain[] = {"prev", "seq", "hash", NULL};
    static const char *const again[] = {"prev", "seq", "hash",       "call", "tool",
                                        "uid",  "pid", "settlement", NULL};
    struct audit *a = context;
    char *shown = NULL;
    size_t size = 0;
    FILE *out = a->json ? NULL : open_memstream(&shown, &size);
    a->count++;
    if (a->json)
        return print_call(a, call);
    if (!out)
        return false;
    bool fine = tc_table_object(out, call->decision, chain);
    (void)fputc('\n', out);
    if (call->result.at)
        fine = tc_table_object(out, call->result, again) && fine;
    else if (tc_scan_is(tc_json_get(call->decision, "kind"), "run"))
        (void)fputs("no result is recorded: the call still runs, or its program was ended\n", out);
    else if (tc_past_settles(call))
        (void)fputs("no result is recorded: the program that did it was ended\n", out);
    if (tc_past_settles(call))
        (void)fputc('\n', out);
    return tc_cli_print_text(TC_PAINT_ROWS, out, &shown) == 0 && fine;
}

static int fail_missing(const struct audit *a)
{
    return tc_failure_set(a->failure, TOOLCAGE_ENOT_FOUND, "toolcage audit list has the ids",
                          "the log has no call %s", a->filter.call);
}

static int show(struct audit *a)
{
    a->filter.call = a->args->operands[1];
    a->filter.settles = true;
    int rc = read_calls(a, show_call, a);
    return rc || a->count ? rc : fail_missing(a);
}

/* ---- verify ---- */

static void put_fault(void *context, const char *segment, uint64_t line, const char *what)
{
    FILE *out = context;
    if (!segment)
        (void)fprintf(out, "%s\n", what);
    else if (line)
        (void)fprintf(out, "%s.jsonl:%" PRIu64 ": the record %s\n", segment, line, what);
    else
        (void)fprintf(out, "%s.jsonl: the segment %s\n", segment, what);
}

static void put_json_fault(void *context, const char *segment, uint64_t line, const char *what)
{
    FILE *out = context;
    (void)fputs(ftell(out) > 0 ? ",{\"segment\":" : "{\"segment\":", out);
    if (segment)
        tc_cli_json_string(out, segment);
    else
        (void)fputs("null", out);
    (void)fprintf(out, ",\"line\":%" PRIu64 ",\"what\":", line);
    tc_cli_json_string(out, what);
    (void)fputc('}', out);
}

static int print_found(const struct audit *a, const struct tc_audit_found *found,
                       const char *faults)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    int64_t open = (int64_t)found->run - (int64_t)found->results;
    int64_t unsettled = (int64_t)found->settle - (int64_t)found->settled;
    if (!out)
        return tc_cli_no_memory();
    if (a->json)
        (void)fprintf(out,
                      "{\"segments\":%" PRIu64 ",\"records\":%" PRIu64 ",\"run\":%" PRIu64
                      ",\"refused\":%" PRIu64 ",\"results\":%" PRIu64 ",\"settle\":%" PRIu64
                      ",\"settled\":%" PRIu64 ",\"anchored\":%" PRIu64 ",\"after_anchor\":%" PRIu64
                      ",\"unfinished\":%s,\"faults\":[%s]}\n",
                      found->segments, found->records, found->run, found->refused, found->results,
                      found->settle, found->settled, found->anchored, found->after,
                      found->unfinished ? "true" : "false", faults);
    else
        (void)fprintf(out, "%s%" PRIu64 " records in %" PRIu64 " segments: %s\n", faults,
                      found->records, found->segments, found->faults ? "damaged" : "ok");
    if (!a->json && found->unfinished)
        (void)fputs("the last record was not written to its end: its writer was killed, or is "
                    "writing it\n",
                    out);
    if (!a->json && tc_args_has(a->args, "anchor"))
        (void)fprintf(out, "the anchor has %" PRIu64 " of them; %" PRIu64 " are newer than these\n",
                      found->anchored, found->after);
    if (!a->json && open > 0)
        (void)fprintf(out,
                      "%" PRId64 " calls have no result: they still run, or their program was "
                      "ended before them\n",
                      open);
    if (!a->json && unsettled > 0)
        (void)fprintf(out,
                      "%" PRId64 " decisions about staged changes have no result: their program "
                      "was ended before it, or is at it\n",
                      unsettled);
    return tc_cli_print_text(a->json ? TC_PAINT_NOTHING : TC_PAINT_ROWS, out, &shown);
}

static int verify(struct audit *a)
{
    const char *anchor = tc_args_value(a->args, "anchor");
    struct tc_audit_found found = {0};
    char *faults = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&faults, &size);
    if (!out)
        return fail_memory(a);
    int rc = tc_audit_verify(a->dir, anchor, a->json ? put_json_fault : put_fault, out, &found);
    int saved = errno;
    _autofree_ char *said = tc_cli_text(out, &faults);
    if (rc < 0 && said && !a->json)
        (void)tc_cli_print_clean(said); /* the faults so far */
    if (rc < 0)
        return tc_failure_set(a->failure, TOOLCAGE_ESYSTEM, "see who owns its files",
                              "cannot read the audit log%s: %s", anchor ? " or its anchor" : "",
                              strerror(saved));
    rc = print_found(a, &found, said ? said : "");
    return rc ? rc : found.faults ? EXIT_FAULTS : 0;
}

/* ---- stats, follow ---- */

static int print_stats(struct audit *a)
{
    struct tc_stats *stats = tc_stats_new();
    char *shown = NULL;
    size_t size = 0;
    FILE *out = stats ? open_memstream(&shown, &size) : NULL;
    if (!out) {
        tc_stats_free(stats);
        return fail_memory(a);
    }
    a->filter.settles = true;
    int rc = read_calls(a, tc_stats_take, stats);
    tc_stats_put(out, stats, a->json);
    tc_stats_free(stats);
    int printed = tc_cli_print_text(a->json ? TC_PAINT_NOTHING : TC_PAINT_ROWS, out, &shown);
    return rc ? rc : printed;
}

static bool ignore(void *context, const struct tc_past_call *call)
{
    (void)context;
    (void)call;
    return true;
}

static bool follow_call(void *context, const struct tc_past_call *call)
{
    struct audit *a = context;
    _autofree_ char *line = line_of(a, call);
    a->failure->code = line && !print_line(a, line) ? 0 : TOOLCAGE_ESYSTEM;
    return !a->failure->code;
}

/* Until a signal ends it, or its output is closed. */
static int follow(struct audit *a)
{
    a->filter.settles = true;
    struct tc_past past = {.filter = &a->filter, .fn = ignore, .context = a};
    struct tc_audit_cursor cursor = {.dir = a->dir};
    int rc = 0;
    while (!rc && !a->failure->code) {
        rc = tc_audit_read(&cursor, tc_past_take, &past) < 0 ? tc_past_fail(a->failure) : 0;
        past.fn = follow_call;
        (void)usleep(FOLLOW_MS * 1000);
    }
    tc_past_done(&past);
    tc_audit_cursor_done(&cursor);
    return rc ? rc : TC_EXIT_FAILURE;
}

/* ---- check ---- */

static int check(struct audit *a)
{
    struct toolcage_policy *policy = NULL;
    int64_t broken = 0;
    if (toolcage_policy_load_file(a->args->operands[1], &policy, tc_failure_error(a->failure)))
        return -1;
    char *shown = tc_recheck_text(a->dir, &a->filter, policy, NULL, a->json, &broken, a->failure);
    (void)toolcage_policy_unref(policy);
    int rc = !shown ? -1 : tc_cli_print_painted(a->json ? TC_PAINT_NOTHING : TC_PAINT_ROWS, shown);
    free(shown);
    return rc ? rc : broken ? EXIT_FAULTS : 0;
}

/* ---- replay, prune ---- */

static int replay_under(struct audit *a, struct toolcage_policy *policy, size_t most)
{
    bool other = false;
    struct tc_replay *replay = tc_replay_new(policy, most, a->json, tc_failure_error(a->failure));
    if (!replay)
        return a->failure->error ? -1 : fail_memory(a);
    int rc = read_calls(a, tc_replay_take, replay);
    if (!rc && a->filter.call && !tc_replay_count(replay))
        rc = fail_missing(a);
    if (!rc)
        rc = tc_replay_run(replay, &other);
    tc_replay_free(replay);
    return rc ? rc : other ? EXIT_FAULTS : 0;
}

static int replay(struct audit *a)
{
    _autofound_ struct tc_found found = {0};
    size_t most = 1;
    bool one = a->args->operand_count == 2;
    if (one == tc_args_has(a->args, "last"))
        return tc_failure_set(a->failure, TOOLCAGE_EUSAGE, "toolcage audit list has the ids",
                              "audit replay takes either a call or --last NUMBER");
    if (one)
        a->filter.call = a->args->operands[1];
    else if (read_number(a, "last", &most))
        return -1;
    if (tc_lookup(tc_args_value(a->args, "policy"), TC_LOOKUP_TRUSTED, &found, a->failure))
        return -1;
    return replay_under(a, found.policy, most);
}

static int print_pruned(const struct audit *a, int64_t removed, int64_t left)
{
    _autofree_ char *line =
        tc_cli_format(a->json ? "{\"removed_bytes\":%" PRId64 ",\"left_bytes\":%" PRId64 "}"
                              : "removed %" PRId64 " bytes; %" PRId64 " bytes are left",
                      removed, left);
    return line ? tc_cli_print_line(line) : tc_cli_no_memory();
}

static int prune(struct audit *a)
{
    int64_t removed = 0, left = 0;
    if (!a->filter.until || a->filter.since || tc_args_has(a->args, "directory"))
        return tc_failure_set(a->failure, TOOLCAGE_EUSAGE, "toolcage audit prune --until 30d",
                              "audit prune takes --until TIME alone");
    struct tc_audit_cursor cursor = {.dir = a->dir};
    struct tc_prune *prune = tc_prune_new(a->filter.until);
    if (!prune && errno == ENOENT)
        return print_pruned(a, 0, 0);
    if (!prune)
        return tc_failure_set(a->failure, TOOLCAGE_ESYSTEM,
                              "try again when no call runs; the directory must belong to you alone",
                              "cannot lock what is kept for replays: %s", strerror(errno));
    int rc = tc_audit_read(&cursor, tc_prune_take, prune) < 0 ? tc_past_fail(a->failure) : 0;
    tc_audit_cursor_done(&cursor);
    if (!rc && tc_prune_run(prune, &removed, &left) < 0)
        rc = errno == EBADMSG
                 ? tc_failure_set(a->failure, TOOLCAGE_ESYSTEM, "toolcage audit verify",
                                  "nothing was removed: a record of the log cannot be read")
                 : tc_failure_set(a->failure, TOOLCAGE_ESYSTEM, "see who owns its files",
                                  "not all could be removed: %s", strerror(errno));
    tc_prune_free(prune);
    return rc ? rc : print_pruned(a, removed, left);
}

/* ---- otlp ---- */

static int print_spans(struct audit *a)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    struct tc_spans *spans = out ? tc_spans_new(out) : NULL;
    int rc = spans ? read_calls(a, tc_spans_take, spans) : fail_memory(a);
    tc_spans_end(spans);
    _autofree_ char *request = out ? tc_cli_text(out, &shown) : NULL;
    return rc ? rc : request ? tc_cli_print(request, size) : tc_cli_no_memory();
}

/* ---- the verb ---- */

enum { FILTERS = 1, LIMIT = 2, ANCHOR = 4, REPLAY = 8, UNTIL = 16 };

static const struct {
    const char *name;
    int (*run)(struct audit *a);
    size_t least, most; /* operands, with the action */
    int takes;          /* options */
} actions[] = {
    {"list", list_calls, 1, 1, FILTERS | LIMIT},
    {"show", show, 2, 2, 0},
    {"verify", verify, 1, 1, ANCHOR},
    {"check", check, 2, 2, FILTERS},
    {"replay", replay, 1, 2, FILTERS | REPLAY},
    {"prune", prune, 1, 1, UNTIL},
    {"stats", print_stats, 1, 1, FILTERS},
    {"otlp", print_spans, 1, 1, FILTERS},
    {"follow", follow, 1, 1, FILTERS},
};

static const struct {
    const char *name;
    int takes;
} taken[] = {
    {"tool", FILTERS},  {"status", FILTERS}, {"since", FILTERS}, {"until", FILTERS | UNTIL},
    {"host", FILTERS},  {"path", FILTERS},   {"limit", LIMIT},   {"anchor", ANCHOR},
    {"policy", REPLAY}, {"last", REPLAY}};

/* An option that an action does not take would be ignored. */
static int check_taken(struct audit *a, size_t action)
{
    for (size_t i = 0; i < TC_COUNT(taken); i++)
        if (tc_args_has(a->args, taken[i].name) && !(actions[action].takes & taken[i].takes))
            return tc_failure_set(a->failure, TOOLCAGE_EUSAGE, "toolcage audit --help",
                                  "audit %s does not take --%s", actions[action].name,
                                  taken[i].name);
    return 0;
}

static bool is_status(const char *word)
{
    static const char *const words[] = {"ok",        "failed", "timeout",    "limit", "denied",
                                        "cancelled", "error",  "unfinished", "passed"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (!strcmp(words[i], word))
            return true;
    return false;
}

static int read_options(struct audit *a)
{
    a->json = tc_args_has(a->args, "json");
    a->filter.tool = tc_args_value(a->args, "tool");
    a->filter.status = tc_args_value(a->args, "status");
    a->filter.host = tc_args_value(a->args, "host");
    a->filter.path = tc_args_value(a->args, "path");
    a->limit = USUAL_LIMIT;
    if (a->filter.status && !is_status(a->filter.status))
        return tc_failure_set(a->failure, TOOLCAGE_EUSAGE,
                              "write ok, failed, timeout, limit, denied, cancelled, error or "
                              "unfinished",
                              "--status %s is not a status", a->filter.status);
    if (a->filter.path && a->filter.path[0] != '/')
        return tc_failure_set(a->failure, TOOLCAGE_EUSAGE,
                              "write an absolute path, as the log has it",
                              "--path %s is not absolute", a->filter.path);
    if (tc_args_has(a->args, "limit") && read_number(a, "limit", &a->limit))
        return -1;
    if (tc_past_time(a->args, "since", a->since, &a->filter.since, a->failure))
        return -1;
    return tc_past_time(a->args, "until", a->until, &a->filter.until, a->failure);
}

static int run_action(struct audit *a)
{
    const char *word = a->args->operand_count ? a->args->operands[0] : "list";
    size_t given = a->args->operand_count ? a->args->operand_count : 1;
    for (size_t i = 0; i < TC_COUNT(actions); i++) {
        if (strcmp(word, actions[i].name) != 0)
            continue;
        if (given < actions[i].least || given > actions[i].most)
            return tc_failure_set(a->failure, TOOLCAGE_EUSAGE,
                                  "toolcage audit show CALL; toolcage audit check POLICY",
                                  "audit %s takes %s", word,
                                  actions[i].most > 1 ? "one operand" : "no operand");
        if (check_taken(a, i) || read_options(a) || open_log(a))
            return -1;
        return actions[i].run(a);
    }
    return tc_failure_set(a->failure, TOOLCAGE_EUSAGE,
                          "write list, show, verify, check, replay, prune, stats, otlp or follow",
                          "audit has no action \"%s\"", word);
}

static int run_audit(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct audit a = {.args = args, .failure = &failure, .dir = -1};
    int rc = run_action(&a);
    if (a.dir >= 0)
        (void)close(a.dir);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}

const struct tc_verb tc_verb_audit = {
    .name = "audit",
    .operands = "[list|show CALL|verify|check POLICY|replay [CALL]|prune|stats|otlp|follow]",
    .summary = "show and check the log of all calls",
    .text = text,
    .options = options,
    .least = 0,
    .most = 2,
    .run = run_audit,
};
