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
    return !strncmp(path, r->rows[below].path, n) && r->rows[below].path[n] == '/';
}

/* Are there changes below it? Below a file that replaced a directory, these are removals. */
static bool holds_more(const struct tc_review *r, size_t row)
{
    size_t n = strlen(r->rows[row].path);
    for (size_t i = row + 1; i < r->count && !strncmp(r->rows[i].path, r->rows[row].path, n); i++)
        if (is_below(r, row, i))
            return true;
    return false;
}

/* A new directory, or one that is deleted, is decided with its content. */
static bool follows_content(const struct tc_review *r, size_t row)
{
    bool deleted = strcmp(r->rows[row].kind, "deleted") == 0;
    return deleted ? holds_more(r, row)
                   : r->rows[row].directory && strcmp(r->rows[row].kind, "modified") != 0 &&
                         holds_more(r, row);
}

/* The row whose answer is also for this one, because it replaced the directory above; or itself. */
static size_t decided_by(const struct tc_review *r, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (!r->rows[i].directory && is_below(r, i, row) && strcmp(r->rows[i].kind, "deleted") != 0)
            return i;
    return row;
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
static bool ask_row(struct tc_question *q, size_t index, enum verdict *ret)
{
    const struct tc_review_row *row = &q->review.rows[index];
    static const char plain[] = "apply this one? y: yes, d: discard it, q: no more of them, else: "
                                "later",
                      steers[] = "programs here load or run this file by themselves; apply it? s: "
                                 "yes, even so, d: discard it, q: no more of them, else: later";
    show_row(q, row);
    if (holds_more(&q->review, index))
        tc_cli_say(row->directory ? "this one is applied or discarded only with everything below it"
                                  : "it replaces a directory, whose content is removed");
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
        if (!is_below(r, row, i) || follows_content(r, i))
            continue;
        all = first || all == verdicts[i] ? verdicts[i] : LATER;
        first = false;
        if (all == LATER)
            return;
    }
    verdicts[row] = all;
}

/* A path means everything below it, too, so a changed directory keeps its verdict only if that is
 * everything's. */
static void judge_changed(const struct tc_question *q, size_t row, enum verdict *verdicts)
{
    const struct tc_review *r = &q->review;
    bool same = true;
    for (size_t i = row + 1; i < r->count; i++)
        same = same && (!is_below(r, row, i) || verdicts[i] == verdicts[row]);
    if (same || verdicts[row] == LATER)
        return;
    verdicts[row] = LATER;
    tc_cli_say("%s stays staged: the changes below it have other answers",
               tc_review_name(r, &r->rows[row]));
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

static void judge_all(const struct tc_question *q, enum verdict *verdicts)
{
    const struct tc_review *r = &q->review;
    judge_objects(r, verdicts);
    for (size_t i = 0; i < r->count; i++)
        verdicts[i] = verdicts[decided_by(r, i)];
    for (size_t i = 0; i < r->count; i++)
        if (follows_content(r, i))
            judge_directory(r, i, verdicts);
    for (size_t i = r->count; i-- > 0;) /* the deepest first */
        if (r->rows[i].directory && holds_more(r, i) && !follows_content(r, i))
            judge_changed(q, i, verdicts);
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
        if (follows_content(r, i) || decided_by(r, i) != i)
            show_row(q, &r->rows[i]);
        else if (!ask_row(q, i, &verdicts[i]))
            break;
    }
    judge_all(q, verdicts);
    int rc = settle_all(q, verdicts);
    if (!rc && tc_review_caches(r))
        tc_cli_hint("toolcage changes %s commit --all applies the caches, discard deletes them",
                    q->call);
    return rc;
}
