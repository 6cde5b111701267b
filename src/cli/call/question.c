/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * At the end of a call with staged changes: shows them, and asks the user at the terminal. The tool
 * has no access to that terminal, and its output there was escaped. */
#include "cli/call/question.h"

#include <string.h>
#include <sys/ioctl.h>

#include "approve/queue/queue.h"
#include "cli/call/consent.h"
#include "cli/call/last.h"
#include "cli/call/staged.h"
#include "cli/show/clean.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"
#include "progress/progress.h"

static bool waits(struct tc_slice result)
{
    return tc_json_find(tc_json_get(result, "changes"), "held", TOOLCAGE_HELD_APPROVAL).at;
}

static void done(struct tc_question *q)
{
    tc_review_done(&q->review);
    toolcage_free(q->json);
    free(q->digest);
}

static char ask_action(struct tc_question *q, const char *words)
{
    return tc_cli_answer(q->fd, q->terminal, words);
}

/* False: it was not shown, or a content is neither shown nor known by its digest. */
static bool view(const struct tc_question *q)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        tc_review_put(out, &q->review);
    bool whole = out && !fclose(out);
    if (whole) {
        tc_cli_stderr_painted(TC_PAINT_DIFF, text);
        tc_viewed_keep("changes", q->call);
        whole = !tc_diff_print(STDERR_FILENO, q->engine, q->call, &q->review);
    } else {
        (void)tc_cli_no_memory();
    }
    free(text);
    if (whole && !tc_review_known(&q->review))
        tc_cli_hint("the content of a file cannot be read, so there is no yes to all; f asks about "
                    "each");
    return whole && tc_review_known(&q->review);
}

/* How many rows and columns fit above the question; of an unknown screen, a large one's. */
static void find_screen(int fd, size_t *ret_rows, size_t *ret_columns)
{
    enum { ROWS = 40, COLUMNS = 80, QUESTION = 200 };
    struct winsize size = {0};
    *ret_rows = ROWS;
    *ret_columns = COLUMNS;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        return;
    size_t asked = 2 + QUESTION / size.ws_col; /* with the line of the answer */
    *ret_columns = size.ws_col;
    *ret_rows = size.ws_row > asked ? size.ws_row - asked : 0;
}

static size_t rows_of(const char *text, size_t width)
{
    enum { TAB = 8 };
    size_t rows = 0, columns = 0;
    for (; *text; text++) {
        columns += *text == '\t' ? TAB : 1;
        rows += *text == '\n';
    }
    return rows + columns / width;
}

static size_t count_listed(const struct tc_review *review)
{
    size_t listed = 0;
    for (size_t i = 0; i < review->count; i++)
        listed += !tc_review_hides(review, &review->rows[i]);
    return listed;
}

/* Shows changes that fit on a screen, so that they need not be asked for. */
static bool show_short(const struct tc_question *q)
{
    enum { SECONDS = 2 };
    size_t rows, width;
    bool whole = false;
    find_screen(q->fd, &rows, &width);
    if (count_listed(&q->review) > rows)
        return false;
    _autofree_ char *text = tc_diff_text(q->engine, &q->review, SECONDS, &whole);
    _autofree_ char *clean = text ? tc_clean(TC_CLEAN_TEXT, text, strlen(text), NULL) : NULL;
    if (!clean || !whole || rows_of(clean, width) > rows)
        return false;
    tc_cli_stderr_painted(TC_PAINT_DIFF, text);
    tc_viewed_keep("changes", q->call);
    return true;
}

/* "y" excludes caches; if only caches are staged, "y" is not offered. Nothing is applied that was
 * not shown. */
static const char *words_for(const struct tc_question *q)
{
    bool caches = tc_review_caches(&q->review);
    if (tc_review_caches_alone(&q->review))
        return "only caches were changed; apply them? a: yes, all, d: discard them, else: later";
    if (!q->shown)
        return "apply these changes? v: view all of them first, d: discard them, f: file by file, "
               "else: later";
    return caches ? "apply these changes? y: yes, a: with caches, d: discard them, v: view them, "
                    "f: file by file, else: later"
                  : "apply these changes? y: yes, d: discard them, v: view them, f: file by file, "
                    "else: later";
}

/* The action, or NULL: later. "each": decide for each file; "all": with caches. */
static const char *read_answer(struct tc_question *q)
{
    bool alone = tc_review_caches_alone(&q->review);
    for (;;) {
        char c = ask_action(q, words_for(q));
        if (alone && c == 'y')
            return NULL;
        switch (!alone && !q->shown && (c == 'y' || c == 'a') ? 'v' : c) {
        case 'y':
            return "commit";
        case 'a':
            return "all";
        case 'd':
            return "discard";
        case 'f':
            return "each";
        case 'v':
            q->shown = view(q) || q->shown;
            continue;
        default:
            return NULL;
        }
    }
}

static void say_later(const char *call)
{
    tc_cli_hint("toolcage changes %s commit applies them, discard deletes them", call);
}

void tc_question_say_left(struct tc_slice answered, const char *call)
{
    _autoreview_ struct tc_review review = {0};
    bool any = false;
    if (tc_review_make(&review, answered))
        return;
    for (size_t i = 0; i < review.count; i++) {
        const struct tc_review_row *row = &review.rows[i];
        if (!row->held || tc_review_hides(&review, row))
            continue;
        tc_cli_say("still held: %s (%s)", tc_review_name(&review, row), row->held);
        any = true;
    }
    if (any)
        tc_cli_hint("toolcage changes %s shows them", call);
}

void tc_question_count(struct tc_slice answered, size_t before, struct tc_decided *ret)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answered, "changes"));
    ret->left = 0;
    while (tc_scan_next(&each)) {
        struct tc_slice why = tc_json_get(each.value, "held");
        ret->left += why.at && !tc_scan_is(why, "discarded");
        ret->applied += !why.at;
    }
    size_t known = ret->applied + ret->left;
    ret->discarded = before > known ? before - known : 0;
}

/* After a no, or without the program that asked, a yes counts no more. */
static int claim(const struct tc_question *q)
{
    struct tc_fault fault;
    if (!q->asked || tc_queue_claim(q->asked->request, q->asked->claim, &fault) == 0)
        return 0;
    tc_cli_say("nothing was applied or discarded: %s", fault.text);
    return TC_EXIT_FAILURE;
}

int tc_question_settle(struct tc_question *q, const char *action, const char *digest, size_t count,
                       char *const paths[])
{
    const char *const *some = (const char *const *)paths;
    int32_t settle = tc_settle_of(action);
    _autoerror_ struct toolcage_error *err = NULL;
    char *answered = NULL;
    int rc = claim(q);
    if (rc)
        return rc;
    tc_progress_start(action[0] == 'd' ? "discarding the changes" : "applying the changes", NULL);
    if (digest ? toolcage_engine_settle_seen_json(q->engine, q->call, settle, digest, count, some,
                                                  &answered, &err)
               : toolcage_engine_settle_json(q->engine, q->call, settle, count, some, &answered,
                                             &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    tc_question_say_left(tc_json_of(answered), q->call);
    tc_question_count(tc_json_of(answered), q->review.count, &q->decided);
    toolcage_free(answered);
    return 0;
}

/* Asks, and does what was answered. 0, or the exit code of a failure. */
static int settle_answer(struct tc_question *q)
{
    char root[] = "/", *const all[] = {root};
    q->shown = show_short(q);
    const char *action = read_answer(q);
    if (!action) {
        say_later(q->call);
        return 0;
    }
    if (strcmp(action, "all") == 0)
        return tc_question_settle(q, "commit", q->digest, 1, all);
    return strcmp(action, "each") == 0 ? tc_question_each(q)
                                       : tc_question_settle(q, action, q->digest, 0, NULL);
}

int tc_changes_decide(struct toolcage_engine *engine, const char *call,
                      const struct tc_person *person, const struct tc_waiting_request *asked,
                      struct tc_decided *ret)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct tc_question q = {
        .engine = engine, .call = call, .fd = person->fd, .terminal = person->in, .asked = asked};
    if (toolcage_engine_changes_json(engine, call, 0, NULL, &q.json, &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    struct tc_slice json = tc_json_of(q.json);
    q.digest = tc_json_text(tc_json_get(json, "digest"));
    int rc = tc_review_make(&q.review, json);
    if (!rc && q.digest)
        rc = settle_answer(&q);
    else if (!rc)
        say_later(call); /* what cannot be read cannot be shown */
    *ret = q.decided;
    done(&q);
    return rc;
}

int tc_changes_ask(struct toolcage_engine *engine, const struct toolcage_result *result,
                   const char *queue)
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    _autofree_ char *call = waits(json) ? tc_json_text(tc_json_get(json, "call")) : NULL;
    struct tc_person person = {.fd = -1};
    struct tc_decided decided;
    int rc = 0;
    if (!call)
        return 0;
    if (tc_person_open(&person))
        rc = tc_changes_decide(engine, call, &person, NULL, &decided);
    else if (!queue || tc_staged_wait(engine, call, queue))
        say_later(call);
    tc_person_close(&person);
    return rc;
}
