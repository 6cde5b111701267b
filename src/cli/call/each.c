/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Staged changes file by file: asks about each, then settles all of them at once. */
#include <string.h>

#include "cli/call/question.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"

enum verdict { LATER, APPLY, DISCARD };

static char ask_action(struct tc_question *q, const char *words)
{
    return tc_cli_answer(q->fd, q->terminal, words);
}

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

/* A steering file has a question of its own, with a yes of its own. */
static bool is_steering(const struct tc_review_row *row)
{
    return row->held && strcmp(row->held, TOOLCAGE_HELD_STEERING) == 0;
}

static void show_row(const struct tc_question *q, const struct tc_review_row *row)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    (void)fprintf(out, "%-8s  %s", row->kind, tc_review_name(&q->review, row));
    tc_review_put_detail(out, row);
    (void)fprintf(out, "%s%s%s\n", is_steering(row) ? "  (" : "", is_steering(row) ? row->held : "",
                  is_steering(row) ? ")" : "");
    tc_diff_put_row(out, q->engine, &q->review, row);
    if (!fclose(out))
        tc_cli_stderr_painted(TC_PAINT_DIFF, text);
    free(text);
}

/* False: stop asking. */
static bool ask_row(struct tc_question *q, const struct tc_review_row *row, enum verdict *ret)
{
    static const char plain[] = "apply this one? y: yes, d: discard it, q: no more of them, else: "
                                "later",
                      steers[] = "programs here load or run this file by themselves; apply it? s: "
                                 "yes, even so, d: discard it, q: no more of them, else: later";
    show_row(q, row);
    char answer = ask_action(q, is_steering(row) ? steers : plain);
    if (answer == (is_steering(row) ? 's' : 'y'))
        *ret = APPLY;
    else if (answer == 'd')
        *ret = DISCARD;
    return answer && answer != 'q';
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

static int settle_verdict(struct tc_question *q, const char *action, const char *digest,
                          enum verdict verdict, const enum verdict *verdicts)
{
    const struct tc_review *r = &q->review;
    char **paths = calloc(r->count + 1, sizeof(*paths));
    size_t count = 0;
    bool fine = paths;
    for (size_t i = 0; fine && i < r->count; i++)
        if (verdicts[i] == verdict)
            fine = (paths[count++] = tc_json_raw_path(r->rows[i].json));
    int rc = !fine   ? tc_cli_no_memory()
             : count ? tc_question_settle(q, action, digest, count, paths)
                     : 0;
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    return rc;
}

static bool has(const struct tc_review *r, const enum verdict *verdicts, enum verdict wanted,
                bool steering)
{
    for (size_t i = 0; i < r->count; i++)
        if (verdicts[i] == wanted && (!steering || is_steering(&r->rows[i])))
            return true;
    return false;
}

/* Applies first: then the digest of the rest is another one. */
static int settle_all(struct tc_question *q, const enum verdict *verdicts)
{
    const struct tc_review *r = &q->review;
    bool steering = has(r, verdicts, APPLY, true), applies = has(r, verdicts, APPLY, false);
    int rc = settle_verdict(q, steering ? "steering" : "commit", q->digest, APPLY, verdicts);
    return rc ? rc : settle_verdict(q, "discard", applies ? NULL : q->digest, DISCARD, verdicts);
}

int tc_question_each(struct tc_question *q)
{
    const struct tc_review *r = &q->review;
    _autofree_ enum verdict *verdicts = calloc(r->count + 1, sizeof(*verdicts));
    if (!verdicts)
        return tc_cli_no_memory();
    for (size_t i = 0; i < r->count; i++) {
        if (tc_review_hides(r, &r->rows[i]))
            continue;
        if (holds_more(r, i))
            show_row(q, &r->rows[i]);
        else if (!ask_row(q, &r->rows[i], &verdicts[i]))
            break;
    }
    judge_objects(r, verdicts);
    for (size_t i = 0; i < r->count; i++)
        if (holds_more(r, i))
            judge_directory(r, i, verdicts);
    int rc = settle_all(q, verdicts);
    if (!rc && tc_review_caches(r))
        tc_cli_hint("toolcage changes %s commit --all applies the caches, discard deletes them",
                    q->call);
    return rc;
}
