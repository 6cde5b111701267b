/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/staged.h"

#include <string.h>
#include <time.h>

#include "cli/call/notify.h"
#include "cli/call/question.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"
#include "progress/progress.h"

/* ---- the program that waits ---- */

static size_t count_changes(struct tc_slice answer)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    size_t count = 0;
    while (tc_scan_next(&each))
        count++;
    return count;
}

/* How many changes of a call are still staged; -1: not known. */
static int64_t count_left(struct toolcage_engine *engine, const char *call)
{
    char *json = NULL;
    if (toolcage_engine_changes_json(engine, NULL, 0, NULL, &json, NULL))
        return -1;
    struct tc_slice row = tc_json_find(tc_json_get(tc_json_of(json), "held"), "call", call);
    int64_t count = row.at ? tc_json_int(tc_json_get(row, "changes"), -1) : 0;
    toolcage_free(json);
    return count;
}

/* The tool of a call with staged changes; owned, NULL: a bare command. */
static char *find_tool(struct toolcage_engine *engine, const char *call)
{
    char *json = NULL;
    if (toolcage_engine_changes_json(engine, NULL, 0, NULL, &json, NULL))
        return NULL;
    struct tc_slice row = tc_json_find(tc_json_get(tc_json_of(json), "held"), "call", call);
    char *tool = tc_json_text(tc_json_get(row, "tool"));
    toolcage_free(json);
    return tool;
}

/* NULL after the reason was printed. */
static struct tc_wait *begin(struct toolcage_engine *engine, const char *call, const char *queue,
                             int64_t *ret_count)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct tc_fault fault = {.text = "some of them cannot be read"};
    struct tc_wait *wait = NULL;
    char *json = NULL;
    if (toolcage_engine_changes_json(engine, call, 0, NULL, &json, &err)) {
        tc_cli_error(err);
        return NULL;
    }
    _autofree_ char *digest = tc_json_text(tc_json_get(tc_json_of(json), "digest"));
    _autofree_ char *tool = find_tool(engine, call);
    const struct tc_queue_changes changes = {.call = call,
                                             .digest = digest,
                                             .tool = tool,
                                             .count = (int64_t)count_changes(tc_json_of(json))};
    *ret_count = changes.count;
    if (!digest || tc_wait_begin_changes(&changes, queue, &wait, &fault))
        tc_cli_say("nobody can be asked about the changes: %s", fault.text);
    toolcage_free(json);
    return wait;
}

/* Without a yes: a person may have settled the changes otherwise meanwhile. */
static int report_refused(struct toolcage_engine *engine, const char *call, int64_t count,
                          const char *reason)
{
    int64_t left = count_left(engine, call);
    if (left == 0) {
        tc_cli_say("the changes no longer wait: somebody has applied or discarded them by "
                   "toolcage changes");
        return 0;
    }
    tc_cli_say("the changes were not approved%s%s", reason ? ": " : "", reason ? reason : "");
    if (left > 0 && left < count)
        tc_cli_say("%lld of %lld are still staged; somebody has applied or discarded the others",
                   (long long)left, (long long)count);
    return -1;
}

/* Were no changes staged, the last time and now? Who has settled them may be about to answer. */
static bool is_gone(struct toolcage_engine *engine, const char *call, unsigned looks, bool *gone)
{
    enum { EVERY = 2000 / TC_QUEUE_LOOK_MS };
    if (!looks || looks % EVERY)
        return false;
    bool before = *gone;
    *gone = count_left(engine, call) == 0;
    return before && *gone;
}

int tc_staged_wait(struct toolcage_engine *engine, const char *call, const char *queue)
{
    const struct timespec pause = {.tv_nsec = TC_QUEUE_LOOK_MS * 1000000L};
    _autofree_ char *reason = NULL;
    int64_t count = 0;
    struct tc_wait *wait = begin(engine, call, queue, &count);
    enum tc_answer answer;
    bool gone = false;
    if (!wait)
        return -1;
    tc_cli_say("the changes wait for a person's approval: toolcage approvals show %s",
               tc_wait_id(wait));
    tc_notify_request(tc_wait_id(wait));
    for (unsigned looks = 0; (answer = tc_wait_look(wait, &reason)) == TC_ANSWER_NONE; looks++) {
        if (is_gone(engine, call, looks, &gone))
            break;
        (void)nanosleep(&pause, NULL);
    }
    tc_wait_end(wait);
    if (answer != TC_ANSWER_YES)
        return report_refused(engine, call, count, reason);
    tc_cli_say("a person has decided about the changes: %s", reason ? reason : "yes");
    return 0;
}

/* ---- the person ---- */

static struct tc_slice changes_of(const struct tc_queued *q)
{
    return tc_json_get(tc_json_of(q->subject), "changes");
}

bool tc_staged_is(const struct tc_queued *q)
{
    return changes_of(q).at;
}

int64_t tc_staged_count(const struct tc_queued *q)
{
    return tc_json_int(tc_json_get(changes_of(q), "count"), 0);
}

/* The staged changes of a request. */
struct staged {
    struct toolcage_engine *engine;
    char *call, *digest, *json;
    struct tc_review review;
};

static void close_staged(struct staged *s)
{
    tc_review_done(&s->review);
    toolcage_free(s->json);
    free(s->call);
    free(s->digest);
    (void)toolcage_engine_unref(s->engine);
}
#define _autostaged_ __attribute__((cleanup(close_staged)))

/* 0, or -1 with the failure: they are not those of the request. */
static int open_staged(const struct tc_queued *q, struct staged *ret, struct tc_failure *failure)
{
    struct toolcage_error **err = tc_failure_error(failure);
    ret->call = tc_json_text(tc_json_get(changes_of(q), "call"));
    ret->digest = tc_json_text(tc_json_get(changes_of(q), "digest"));
    if (!ret->call || !ret->digest)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals deny ID",
                              "request %s names no staged changes", q->id);
    if (toolcage_engine_new(&ret->engine, err) ||
        toolcage_engine_changes_json(ret->engine, ret->call, 0, NULL, &ret->json, err))
        return -1;
    if (tc_scan_is(tc_json_get(tc_json_of(ret->json), "digest"), ret->digest))
        return tc_review_make(&ret->review, tc_json_of(ret->json)) ? -1 : 0;
    return tc_failure_set(failure, TOOLCAGE_EDENIED, "toolcage changes CALL shows what is staged",
                          "the staged changes are no longer those of request %s, of call %s", q->id,
                          ret->call);
}

int tc_staged_show(const struct tc_queued *q, struct tc_failure *failure)
{
    _autostaged_ struct staged s = {0};
    char *all = NULL;
    size_t size = 0;
    if (open_staged(q, &s, failure))
        return -1;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    (void)fprintf(out, "  digest     | %s\n  call       | %s\n", q->digest, s.call);
    tc_review_put(out, &s.review);
    int rc = tc_cli_print_text(TC_PAINT_DIFF, out, &all);
    return rc ? rc : tc_diff_print(STDOUT_FILENO, s.engine, s.call, &s.review);
}

/* The numbers for the program that waits. */
static int answer(const struct tc_waiting_request *asked, const struct tc_decided *decided,
                  struct tc_failure *failure)
{
    const struct tc_queued *q = asked->request;
    struct tc_fault fault;
    _autofree_ char *text = tc_cli_format("applied %zu, discarded %zu, still staged %zu",
                                          decided->applied, decided->discarded, decided->left);
    int rc = tc_queue_answer_claimed(asked->claim, q, TC_ANSWER_YES, text, &fault);
    tc_cli_say("request %s: %s", q->id, text ? text : "answered");
    if (rc == TOOLCAGE_ENOT_FOUND)
        tc_cli_hint("the program that asked no longer waits for the answer");
    else if (rc < 0)
        return tc_failure_set(failure, fault.code, fault.hint, "%s", fault.text);
    else if (rc)
        tc_cli_hint("the program that waits has not read the answer yet");
    return 0;
}

/* How many changes are listed with this name? Two that look the same may be different ones. */
static size_t count_named(const struct tc_review *review, const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < review->count; i++)
        count += !strcmp(review->rows[i].path, path);
    return count;
}

/* Names of the list as paths in the cage. 0, or -1 with the failure. */
static int find_paths(const struct tc_review *review, size_t count, char *const names[],
                      char *ret[], struct tc_failure *failure)
{
    static const char hint[] = "f at a terminal asks about each: toolcage approvals approve ID";
    for (size_t i = 0; i < count; i++) {
        if (!*names[i])
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                                  "--only needs the name of a file");
        if (!(ret[i] = tc_review_path(review, names[i])))
            return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
        if (count_named(review, ret[i]) > 1)
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                                  "several changes are listed with the same name");
    }
    return 0;
}

static bool is_selected(const struct tc_review_row *row, size_t count, char *const paths[])
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(paths[i]);
        if (!strncmp(paths[i], row->path, n) && (!row->path[n] || row->path[n] == '/'))
            return true;
    }
    return !count;
}

/* Is a selected change still held? Unselected ones and caches are meant to be. */
static bool is_missed(struct tc_slice answered, size_t count, char *const paths[])
{
    _autoreview_ struct tc_review review = {0};
    bool missed = tc_review_make(&review, answered) != 0;
    for (size_t i = 0; i < review.count; i++)
        missed = missed || (review.rows[i].held && !tc_review_hides(&review, &review.rows[i]) &&
                            is_selected(&review.rows[i], count, paths));
    return missed;
}

static int claim(const struct tc_waiting_request *asked, struct tc_failure *failure)
{
    struct tc_fault fault;
    return tc_queue_claim(asked->request, asked->claim, &fault) == 0
               ? 0
               : tc_failure_set(failure, fault.code, fault.hint, "%s", fault.text);
}

/* Of changes that were shown before. 0; 1: not all of the selected ones were applied; or -1. */
static int settle(struct staged *s, const struct tc_waiting_request *asked, size_t count,
                  char *const names[], struct tc_decided *ret, struct tc_failure *failure)
{
    char **paths = calloc(count + 1, sizeof(*paths)), *json = NULL;
    int rc = paths ? find_paths(&s->review, count, names, paths, failure)
                   : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    bool missed = false;
    if (!rc && !tc_review_known(&s->review))
        rc =
            tc_failure_set(failure, TOOLCAGE_EDENIED, "toolcage approvals approve ID at a terminal",
                           "the content of a staged file cannot be read, so it was not shown");
    if (!rc)
        rc = claim(asked, failure);
    if (!rc)
        rc = toolcage_engine_settle_seen_json(s->engine, s->call, TOOLCAGE_SETTLE_COMMIT, s->digest,
                                              count, (const char *const *)paths, &json,
                                              tc_failure_error(failure));
    if (!rc) {
        tc_question_say_left(tc_json_of(json), s->call);
        tc_question_count(tc_json_of(json), s->review.count, ret);
        missed = is_missed(tc_json_of(json), count, paths);
    }
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    toolcage_free(json);
    return rc ? -1 : missed;
}

int tc_staged_approve(const struct tc_queued *q, const struct tc_person *person, size_t path_count,
                      char *const paths[], struct tc_failure *failure)
{
    _autostaged_ struct staged s = {0};
    __attribute__((cleanup(tc_queue_unclaim))) struct tc_queue_claim claimed = TC_QUEUE_UNCLAIMED;
    const struct tc_waiting_request asked = {.request = q, .claim = &claimed};
    struct tc_decided decided = {0};
    int rc = open_staged(q, &s, failure);
    if (!rc)
        rc = person ? tc_changes_decide(s.engine, s.call, person, &asked, &decided)
                    : settle(&s, &asked, path_count, paths, &decided, failure);
    bool any = decided.applied || decided.discarded;
    if (any && person)
        rc = rc ? rc : decided.left > 0;
    if (any && rc >= 0)
        return answer(&asked, &decided, failure) < 0 ? -1 : rc;
    if (rc < 0 || (rc && person))
        return rc;
    tc_cli_say("request %s was not answered: its call still waits", q->id);
    return 1;
}
