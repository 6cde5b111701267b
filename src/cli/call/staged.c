/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/staged.h"

#include <string.h>
#include <time.h>

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
static struct tc_wait *begin(struct toolcage_engine *engine, const char *call, const char *queue)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct tc_queue_fault fault = {.text = "some of them cannot be read"};
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
    if (!digest || tc_wait_begin_changes(&changes, queue, &wait, &fault))
        tc_cli_say("nobody can be asked about the changes: %s", fault.text);
    toolcage_free(json);
    return wait;
}

int tc_staged_wait(struct toolcage_engine *engine, const char *call, const char *queue)
{
    const struct timespec pause = {.tv_nsec = TC_QUEUE_LOOK_MS * 1000000L};
    _autofree_ char *reason = NULL;
    struct tc_wait *wait = begin(engine, call, queue);
    enum tc_answer answer;
    if (!wait)
        return -1;
    tc_cli_say("the changes wait for a person's approval: toolcage approvals show %s",
               tc_wait_id(wait));
    while ((answer = tc_wait_look(wait, &reason)) == TC_ANSWER_NONE)
        (void)nanosleep(&pause, NULL);
    tc_wait_end(wait);
    if (answer == TC_ANSWER_YES)
        tc_cli_say("a person has decided about the changes: %s", reason ? reason : "yes");
    else
        tc_cli_say("the changes were not approved%s%s", reason ? ": " : "", reason ? reason : "");
    return answer == TC_ANSWER_YES ? 0 : -1;
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
static int answer(const struct tc_queued *q, const struct tc_decided *decided,
                  struct tc_failure *failure)
{
    struct tc_queue_fault fault;
    _autofree_ char *text = tc_cli_format("applied %zu, discarded %zu, still staged %zu",
                                          decided->applied, decided->discarded, decided->left);
    int rc = tc_queue_answer(q, decided->applied ? TC_ANSWER_YES : TC_ANSWER_NO, text, &fault);
    tc_cli_say("request %s: %s", q->id, text ? text : "answered");
    if (rc == TOOLCAGE_ENOT_FOUND)
        tc_cli_hint("the program that asked no longer waits for the answer");
    else if (rc < 0)
        return tc_failure_set(failure, fault.code, fault.hint, "%s", fault.text);
    else if (rc)
        tc_cli_hint("the program that waits has not read the answer yet");
    return decided->left ? 1 : 0;
}

/* Names of the list as paths in the cage. False: out of memory. */
static bool find_paths(const struct tc_review *review, size_t count, char *const names[],
                       char *ret[])
{
    for (size_t i = 0; i < count; i++)
        if (!(ret[i] = tc_review_path(review, names[i])))
            return false;
    return true;
}

/* Of changes that were shown before. */
static int settle(struct staged *s, size_t count, char *const names[], struct tc_decided *ret,
                  struct tc_failure *failure)
{
    char **paths = calloc(count + 1, sizeof(*paths)), *json = NULL;
    bool fine = paths && find_paths(&s->review, count, names, paths);
    int rc = fine ? toolcage_engine_settle_seen_json(s->engine, s->call, TOOLCAGE_SETTLE_COMMIT,
                                                     s->digest, count, (const char *const *)paths,
                                                     &json, tc_failure_error(failure))
                  : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (!rc) {
        tc_question_say_left(tc_json_of(json), s->call);
        tc_question_count(tc_json_of(json), s->review.count, ret);
    }
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    toolcage_free(json);
    return rc ? -1 : 0;
}

int tc_staged_approve(const struct tc_queued *q, const struct tc_person *person, size_t path_count,
                      char *const paths[], struct tc_failure *failure)
{
    _autostaged_ struct staged s = {0};
    struct tc_decided decided = {0};
    int rc = open_staged(q, &s, failure);
    if (!rc)
        rc = person ? tc_changes_decide(s.engine, s.call, person, &decided)
                    : settle(&s, path_count, paths, &decided, failure);
    if (rc)
        return rc;
    if (decided.applied || decided.discarded)
        return answer(q, &decided, failure);
    tc_cli_say("request %s was not answered: its call still waits", q->id);
    return 1;
}
