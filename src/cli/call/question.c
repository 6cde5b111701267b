/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * At the end of a call with staged changes: asks the user at the terminal. The tool has no access
 * to that terminal, and its output there was escaped. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/last.h"
#include "cli/call/run.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"
#include "progress/progress.h"

static bool waits(struct tc_slice result)
{
    return tc_json_find(tc_json_get(result, "changes"), "held", TOOLCAGE_HELD_APPROVAL).at;
}

struct question {
    struct toolcage_engine *engine;
    const char *call;
    char *json; /* the staged changes, as the library lists them */
    struct tc_review review;
    int fd;
    FILE *terminal;
};

static void done(struct question *q)
{
    tc_review_done(&q->review);
    toolcage_free(q->json);
    if (q->terminal)
        (void)fclose(q->terminal);
    if (q->fd >= 0)
        (void)close(q->fd);
}

static char ask_action(struct question *q, const char *words)
{
    return tc_cli_answer(q->fd, q->terminal, words);
}

static void view(const struct question *q)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        tc_review_put(out, &q->review);
    if (!out || fclose(out)) {
        (void)tc_cli_no_memory();
    } else {
        tc_cli_stderr_painted(TC_PAINT_DIFF, text);
        tc_viewed_keep("changes", q->call);
        (void)tc_diff_print(STDERR_FILENO, q->engine, q->call, &q->review);
    }
    free(text);
}

/* "y" excludes caches; if only caches are staged, "y" is not offered. */
static const char *words_for(const struct question *q)
{
    if (tc_review_caches_alone(&q->review))
        return "only caches were changed; apply them? a: yes, all, d: discard them, else: later";
    if (tc_review_caches(&q->review))
        return "apply these changes? y: yes, a: with caches, d: discard them, v: view them, f: "
               "file by file, else: later";
    return "apply these changes? y: yes, d: discard them, v: view them, f: file by file, else: "
           "later";
}

/* The action, or NULL: later. "each": decide for each file; "all": with caches. */
static const char *read_answer(struct question *q)
{
    bool alone = tc_review_caches_alone(&q->review);
    for (;;) {
        char c = ask_action(q, words_for(q));
        switch (alone && c == 'y' ? 0 : c) {
        case 'y':
            return "commit";
        case 'a':
            return "all";
        case 'd':
            return "discard";
        case 'f':
            return "each";
        case 'v':
            view(q);
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

/* Reports the changes that could not be applied. */
static void say_left(struct tc_slice answered, const char *call)
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

/* Settles some changes, or all; 0, or the exit code of a failure. */
static int settle_some(const struct question *q, const char *action, size_t count,
                       char *const paths[])
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *answered = NULL;
    tc_progress_start(action[0] == 'd' ? "discarding the changes" : "applying the changes", NULL);
    if (toolcage_engine_settle_json(q->engine, q->call, tc_settle_of(action), count,
                                    (const char *const *)paths, &answered, &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    say_left(tc_json_of(answered), q->call);
    toolcage_free(answered);
    return 0;
}

/* ---- file by file ---- */

enum verdict { LATER, APPLY, DISCARD };

static bool is_below(const struct tc_review *r, size_t above, size_t below)
{
    const char *path = r->rows[above].path;
    size_t n = strlen(path);
    return r->rows[above].directory && !strncmp(path, r->rows[below].path, n) &&
           r->rows[below].path[n] == '/';
}

/* Does the directory contain other changes? It is then decided with them. */
static bool holds_more(const struct tc_review *r, size_t row)
{
    size_t n = strlen(r->rows[row].path);
    for (size_t i = row + 1; i < r->count && !strncmp(r->rows[i].path, r->rows[row].path, n); i++)
        if (is_below(r, row, i))
            return true;
    return false;
}

/* This question does not apply a steering file: that takes an option. */
static bool can_apply(const struct tc_review_row *row)
{
    return !row->held || strcmp(row->held, TOOLCAGE_HELD_STEERING) != 0;
}

static void show_row(const struct question *q, const struct tc_review_row *row)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    (void)fprintf(out, "%-8s  %s", row->kind, tc_review_name(&q->review, row));
    tc_review_put_detail(out, row);
    (void)fprintf(out, "%s%s%s\n", can_apply(row) ? "" : "  (", can_apply(row) ? "" : row->held,
                  can_apply(row) ? "" : ", not applied)");
    tc_diff_put_row(out, q->engine, &q->review, row);
    if (!fclose(out))
        tc_cli_stderr_painted(TC_PAINT_DIFF, text);
    free(text);
}

/* False: stop asking. */
static bool ask_row(struct question *q, const struct tc_review_row *row, enum verdict *ret)
{
    show_row(q, row);
    switch (
        ask_action(q, "apply this one? y: yes, d: discard it, q: no more of them, else: later")) {
    case 'y':
        *ret = APPLY;
        return true;
    case 'd':
        *ret = DISCARD;
        return true;
    case 'q':
    case 0:
        return false;
    default:
        return true;
    }
}

/* A directory that was not asked about gets the common decision of its content. */
static void judge_directory(const struct tc_review *r, size_t row, enum verdict *verdicts)
{
    size_t n = strlen(r->rows[row].path);
    enum verdict all = LATER;
    bool first = true;
    for (size_t i = row + 1; i < r->count && !strncmp(r->rows[i].path, r->rows[row].path, n); i++) {
        if (!is_below(r, row, i) || holds_more(r, i))
            continue;
        all = first || all == verdicts[i] ? verdicts[i] : LATER;
        first = false;
        if (all == LATER)
            return;
    }
    verdicts[row] = all;
}

/* Git objects are not asked about; they are applied if anything is applied, because only other
 * files refer to them. */
static void judge_objects(const struct tc_review *r, enum verdict *verdicts)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++)
        any = any || verdicts[i] == APPLY;
    for (size_t i = 0; any && i < r->count; i++)
        if (r->rows[i].sort == TC_REVIEW_OBJECT)
            verdicts[i] = APPLY;
}

static int settle_verdict(const struct question *q, const char *action, enum verdict verdict,
                          const enum verdict *verdicts)
{
    const struct tc_review *r = &q->review;
    char **paths = calloc(r->count + 1, sizeof(*paths));
    size_t count = 0;
    bool fine = paths;
    for (size_t i = 0; fine && i < r->count; i++)
        if (verdicts[i] == verdict)
            fine = (paths[count++] = tc_json_raw_path(r->rows[i].json));
    int rc = !fine ? tc_cli_no_memory() : count ? settle_some(q, action, count, paths) : 0;
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    return rc;
}

static int settle_each(struct question *q)
{
    const struct tc_review *r = &q->review;
    _autofree_ enum verdict *verdicts = calloc(r->count + 1, sizeof(*verdicts));
    if (!verdicts)
        return tc_cli_no_memory();
    for (size_t i = 0; i < r->count; i++) {
        if (tc_review_hides(r, &r->rows[i]))
            continue;
        if (holds_more(r, i) || !can_apply(&r->rows[i]))
            show_row(q, &r->rows[i]);
        else if (!ask_row(q, &r->rows[i], &verdicts[i]))
            break;
    }
    judge_objects(r, verdicts);
    for (size_t i = 0; i < r->count; i++)
        if (holds_more(r, i))
            judge_directory(r, i, verdicts);
    int rc = settle_verdict(q, "commit", APPLY, verdicts);
    if (!rc)
        rc = settle_verdict(q, "discard", DISCARD, verdicts);
    if (!rc && tc_review_caches(r))
        tc_cli_hint("toolcage changes %s commit --all applies the caches, discard deletes them",
                    q->call);
    return rc;
}

/* 0, or the exit code of a failure. */
static int settle_question(struct question *q)
{
    _autoerror_ struct toolcage_error *err = NULL;
    int rc = 0;
    if (toolcage_engine_changes_json(q->engine, q->call, 0, NULL, &q->json, &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    if ((rc = tc_review_make(&q->review, tc_json_of(q->json))))
        return rc;
    const char *action = read_answer(q);
    if (!action) {
        say_later(q->call);
        return 0;
    }
    char root[] = "/", *const all[] = {root};
    if (strcmp(action, "all") == 0)
        return settle_some(q, "commit", 1, all);
    return strcmp(action, "each") == 0 ? settle_each(q) : settle_some(q, action, 0, NULL);
}

int tc_changes_ask(struct toolcage_engine *engine, const struct toolcage_result *result)
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    _autofree_ char *call = waits(json) ? tc_json_text(tc_json_get(json, "call")) : NULL;
    struct question q = {.engine = engine, .call = call, .fd = -1};
    if (!call)
        return 0;
    if (isatty(STDERR_FILENO))
        q.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    q.terminal = q.fd < 0 ? NULL : fdopen(dup(q.fd), "r");
    int rc = 0;
    if (q.terminal)
        rc = settle_question(&q);
    else
        say_later(call);
    done(&q);
    return rc;
}
