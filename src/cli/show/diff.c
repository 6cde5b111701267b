/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/show/say.h"

enum { SECONDS = 10 };

static const char none[] = "/dev/null";
static const char not_text[] = "not text", too_large[] = "too large";

/* A policy that grants only this file. */
static struct toolcage_policy *grant(const char *host, int64_t ms)
{
    struct toolcage_policy *policy = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fprintf(out,
                  "[defaults]\nnetwork = \"none\"\ntimeout = \"%" PRId64 "ms\"\n"
                  "memory = { max = \"512MiB\", by = \"any\" }\nfilesystem.readable = [{ path = ",
                  ms);
    tc_cli_json_string(out, host);
    (void)fputs(", optional = true }]\n", out);
    if (!fclose(out) && toolcage_policy_load_buffer(text, size, "/diff.toml", &policy, NULL))
        policy = NULL;
    free(text);
    return policy;
}

/* The comparison and its deadline. */
struct comparing {
    struct toolcage_engine *engine;
    const struct tc_review *review;
    struct tc_review_lines lines;
    int64_t until;
    int fd;     /* the output, if each diff is printed at once */
    FILE *into; /* or the text that gets it; NULL: none */
    bool late;
    bool cut;    /* the content of some files was not sent */
    bool hidden; /* text is not shown */
};

/* One change and its contents. */
struct pair {
    const char *names[2], *host, *text;
};

static struct toolcage_call *compare_pair(const struct comparing *c, const struct pair *p)
{
    struct toolcage_policy *policy = grant(p->host, c->until - tc_cli_now_ms());
    struct toolcage_call *call = NULL;
    const char *const command[] = {"diff",      "-u", "--label", p->names[0], "--label",
                                   p->names[1], "--", p->host,   "-"};
    bool fine = policy && !toolcage_call_new(c->engine, policy, NULL, &call, NULL) &&
                !toolcage_call_set_command(call, TC_COUNT(command), command, NULL) &&
                !toolcage_call_set_stdin(call, p->text, strlen(p->text), NULL) &&
                !toolcage_call_run(call, NULL);
    (void)toolcage_policy_unref(policy);
    return fine ? call : toolcage_call_unref(call);
}

/* Counts lines after the two file name lines. */
static void put_diff(FILE *out, struct tc_review_lines *lines, const char *text, size_t length)
{
    const char *end = text + length;
    (void)fwrite(text, 1, length, out);
    for (size_t i = 0; text && text < end; i++) {
        lines->added += i > 1 && *text == '+';
        lines->removed += i > 1 && *text == '-';
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
}

/* diff(1) exits with 0 or 1 if it could compare. */
static const char *judge_result(const struct toolcage_result *result)
{
    int32_t code = result ? toolcage_result_exit_code(result) : -1;
    if (code != 0 && code != 1)
        return "diff cannot show it";
    struct tc_slice output = tc_json_get(tc_json_of(toolcage_result_json(result)), "stdout");
    return tc_json_true(tc_json_get(output, "truncated")) ? "its diff is too large" : NULL;
}

static const char *put_compared(FILE *out, struct comparing *c, const struct pair *pair)
{
    struct toolcage_call *call = compare_pair(c, pair);
    const struct toolcage_result *result = call ? toolcage_call_result(call) : NULL;
    const char *why = judge_result(result);
    size_t length = 0;
    const char *bytes = why ? "" : toolcage_result_output(result, 1, &length);
    put_diff(out, &c->lines, bytes, length);
    (void)toolcage_call_unref(call);
    return why;
}

/* An added or formerly empty file needs neither a cage nor diff(1). */
static bool put_new(FILE *out, struct comparing *c, const struct pair *pair)
{
    _autofree_ char *diff = tc_lines_diff(pair->names, "", pair->text);
    if (diff)
        put_diff(out, &c->lines, diff, strlen(diff));
    return diff;
}

static bool is(const struct tc_review_row *row, const char *kind)
{
    return strcmp(row->kind, kind) == 0;
}

/* Compares with the host's file. */
static const char *put_changed(FILE *out, struct comparing *c, const struct tc_review_row *row,
                               const struct pair *pair)
{
    struct stat st;
    if (!pair->host)
        return "its name is not UTF-8";
    bool other = lstat(pair->host, &st) || !S_ISREG(st.st_mode);
    if (other && is(row, "deleted"))
        return NULL; /* its line in the list is complete */
    if (other)
        (void)fprintf(out, "replaces something that is not a file here: %s\n", pair->names[1]);
    if (other || !st.st_size)
        return put_new(out, c, pair) ? NULL : "out of memory";
    const char *why = tc_cli_now_ms() < c->until ? put_compared(out, c, pair) : "";
    if (!why)
        return NULL;
    c->late = c->late || tc_cli_now_ms() >= c->until;
    return c->late ? "no time left" : why;
}

/* Writes the diff of one change. Returns the reason if its content is not shown; else NULL. */
static const char *put_change(FILE *out, struct comparing *c, const struct tc_review_row *row)
{
    _autofree_ char *path = tc_json_text(tc_json_get(row->json, "path"));
    _autofree_ char *host = tc_json_text(tc_json_get(row->json, "host"));
    bool added = is(row, "added"), deleted = is(row, "deleted");
    if (row->directory || row->link || (!deleted && !row->file.at))
        return NULL; /* its line in the list is complete */
    _autofree_ char *text = deleted ? strdup("") : tc_json_text(tc_json_get(row->file, "text"));
    const char *name = tc_review_name(c->review, row);
    const struct pair pair = {{added ? none : name, deleted ? none : name}, host, text};
    if (!text && tc_json_get(row->file, "base64").at)
        return not_text;
    if (!text) {
        c->cut = true;
        return too_large;
    }
    if (!path)
        return "its name is not UTF-8";
    if (strcmp(path, row->path) != 0)
        return "its name is escaped here, and may be another's";
    if (added)
        return put_new(out, c, &pair) ? NULL : "out of memory";
    return put_changed(out, c, row, &pair);
}

/* A new content that is not shown is known by its size and digest. */
static void put_uncompared(FILE *out, const struct comparing *c, const struct tc_review_row *row,
                           const char *why)
{
    _autofree_ char *sha256 = tc_json_text(tc_json_get(row->file, "sha256"));
    (void)fprintf(out, "not compared  %s  (%s", tc_review_name(c->review, row), why);
    if (sha256)
        (void)fprintf(out, "; %" PRId64 " bytes, sha256 %s",
                      tc_json_int(tc_json_get(row->file, "bytes"), 0), sha256);
    (void)fputs(")\n", out);
}

static void put_row(FILE *out, FILE *left, struct comparing *c, const struct tc_review_row *row)
{
    const char *why = put_change(out, c, row);
    c->hidden = c->hidden || (why && why != not_text);
    c->lines.uncompared += why != NULL;
    if (why)
        put_uncompared(left, c, row, why);
}

/* Output that is printed at once. */
struct piece {
    FILE *out;
    char *text;
    size_t size;
};

static bool open_piece(struct piece *piece)
{
    *piece = (struct piece){0};
    return (piece->out = open_memstream(&piece->text, &piece->size));
}

/* Prints the piece, unless `rc` is an earlier failure. */
static int end_piece(struct piece *piece, const struct comparing *c, int rc)
{
    if ((!piece->out || fclose(piece->out)) && !rc)
        rc = tc_cli_no_memory();
    if (!rc && piece->size && c->into)
        (void)fwrite(piece->text, 1, piece->size, c->into);
    else if (!rc && piece->size && c->fd == STDOUT_FILENO)
        rc = tc_cli_print_painted(TC_PAINT_DIFF, piece->text);
    else if (!rc && piece->size)
        tc_cli_stderr_painted(TC_PAINT_DIFF, piece->text);
    free(piece->text);
    return rc;
}

static int print_row(FILE *left, struct comparing *c, const struct tc_review_row *row)
{
    struct piece piece;
    if (open_piece(&piece))
        put_row(piece.out, left, c, row);
    return end_piece(&piece, c, 0);
}

/* The order of output: modifications, deletions, additions. */
static size_t turn_of(const struct tc_review_row *row)
{
    return is(row, "added") ? 2 : is(row, "deleted");
}

static int print_rows(FILE *left, struct comparing *c)
{
    const struct tc_review *r = c->review;
    int rc = 0;
    for (size_t turn = 0; turn < 3; turn++)
        for (size_t i = 0; !rc && i < r->count; i++)
            if (turn_of(&r->rows[i]) == turn && !tc_review_hides(r, &r->rows[i]))
                rc = print_row(left, c, &r->rows[i]);
    return rc;
}

/* The diffs, the files that were not compared, and the totals. */
static int print_all(struct comparing *c)
{
    struct piece last;
    int rc = open_piece(&last) ? print_rows(last.out, c) : 0;
    _autofree_ char *sum = tc_review_sum(c->review, &c->lines);
    if (last.out && sum && (*sum || !c->review->count))
        (void)fprintf(last.out, "%s\n", *sum ? sum : "nothing is held");
    return end_piece(&last, c, rc ? rc : sum ? 0 : tc_cli_no_memory());
}

char *tc_diff_text(struct toolcage_engine *engine, const struct tc_review *review, int seconds,
                   bool *ret_whole)
{
    struct comparing c = {
        .engine = engine, .review = review, .until = tc_cli_now_ms() + seconds * 1000};
    char *text = NULL;
    size_t size = 0;
    c.into = open_memstream(&text, &size);
    if (!c.into)
        return NULL;
    tc_review_put(c.into, review);
    int rc = print_all(&c);
    *ret_whole = !c.hidden && tc_review_known(review);
    if (!fclose(c.into) && !rc)
        return text;
    free(text);
    return NULL;
}

int tc_diff_print(int fd, struct toolcage_engine *engine, const char *call,
                  const struct tc_review *review)
{
    struct comparing c = {
        .engine = engine, .review = review, .until = tc_cli_now_ms() + SECONDS * 1000, .fd = fd};
    int rc = print_all(&c);
    if (!rc && (c.late || c.cut))
        tc_cli_hint("toolcage changes %s show PATH compares only the files at PATH", call);
    return rc;
}

void tc_diff_put_row(FILE *out, struct toolcage_engine *engine, const struct tc_review *review,
                     const struct tc_review_row *row)
{
    struct comparing c = {
        .engine = engine, .review = review, .until = tc_cli_now_ms() + SECONDS * 1000};
    put_row(out, out, &c, row);
}

/* ---- two texts that differ in one place ---- */

enum { CONTEXT = 3 };

/* The start of each line, and the end of the text. */
struct lines {
    const char **at;
    size_t count;
};

static const char *end_of(const char *line)
{
    const char *end = strchrnul(line, '\n');
    return *end ? end + 1 : end;
}

static bool find_lines(const char *text, struct lines *ret)
{
    size_t most = 2; /* the end, and a last line without a newline */
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        most++;
    ret->at = reallocarray(NULL, most, sizeof(*ret->at));
    if (!ret->at)
        return false;
    for (ret->count = 0; *text; text = end_of(text))
        ret->at[ret->count++] = text;
    ret->at[ret->count] = text;
    return true;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
    size_t la = (size_t)(a->at[i + 1] - a->at[i]), lb = (size_t)(b->at[j + 1] - b->at[j]);
    return la == lb && !memcmp(a->at[i], b->at[j], la);
}

static void print_lines(FILE *out, char mark, const struct lines *lines, size_t from, size_t until)
{
    for (; from < until; from++) {
        const char *line = lines->at[from], *end_piece = lines->at[from + 1];
        (void)fprintf(out, "%c%.*s", mark, (int)(end_piece - line), line);
        if (end_piece[-1] != '\n')
            (void)fputs("\n\\ No newline at end of file\n", out);
    }
}

/* As diff does: a count of 1 is omitted, and an empty range has the number of the line before it.
 * */
static void print_range(FILE *out, char mark, size_t from, size_t count)
{
    (void)fprintf(out, "%c%zu", mark, from + (count != 0));
    if (count != 1)
        (void)fprintf(out, ",%zu", count);
    (void)fputc(' ', out);
}

static void print_hunk(FILE *out, const struct lines *a, const struct lines *b, size_t head,
                       size_t tail)
{
    size_t from = head > CONTEXT ? head - CONTEXT : 0;
    size_t after = tail > CONTEXT ? CONTEXT : tail;
    size_t a_end = a->count - tail, b_end = b->count - tail;
    (void)fputs("@@ ", out);
    print_range(out, '-', from, a_end + after - from);
    print_range(out, '+', from, b_end + after - from);
    (void)fputs("@@\n", out);
    print_lines(out, ' ', a, from, head);
    print_lines(out, '-', a, head, a_end);
    print_lines(out, '+', b, head, b_end);
    print_lines(out, ' ', a, a_end, a_end + after);
}

static char *write_diff(const char *const names[2], const struct lines *a, const struct lines *b)
{
    size_t least = a->count < b->count ? a->count : b->count, head = 0, tail = 0, size = 0;
    char *diff = NULL;
    while (head < least && same_line(a, head, b, head))
        head++;
    while (tail < least - head && same_line(a, a->count - tail - 1, b, b->count - tail - 1))
        tail++;
    if (head == a->count && head == b->count)
        return strdup("");
    FILE *out = open_memstream(&diff, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "--- %s\n+++ %s\n", names[0], names[1]);
    print_hunk(out, a, b, head, tail);
    bool whole = !ferror(out);
    if (!fclose(out) && whole)
        return diff;
    free(diff);
    return NULL;
}

char *tc_lines_diff(const char *const names[2], const char *before, const char *after)
{
    struct lines a = {0}, b = {0};
    char *diff = find_lines(before, &a) && find_lines(after, &b) ? write_diff(names, &a, &b) : NULL;
    free(a.at);
    free(b.at);
    return diff;
}
