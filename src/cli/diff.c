/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/diff.h"

#include <string.h>

#include "cli/say.h"

/* The member with the row's path, as it is written. */
static struct tc_slice name_of(struct tc_slice row)
{
    struct tc_slice text = tc_json_get(row, "path");
    return text.at ? text : tc_json_get(row, "path_base64");
}

/* The change's row among the answer's files, absent where it is no file, or is gone. What is
 * compared are the names themselves: two may be shown alike. */
static struct tc_slice file_of(struct tc_slice answer, struct tc_slice change)
{
    struct tc_slice name = name_of(change);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "files"));
    while (tc_scan_next(&each)) {
        struct tc_slice other = name_of(each.value);
        if (name.at && other.at && name.length == other.length &&
            !memcmp(name.at, other.at, name.length))
            return each.value;
    }
    return (struct tc_slice){0};
}

/* A policy that grants the one file. */
static struct toolcage_policy *grant(const char *host)
{
    struct toolcage_policy *policy = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("[defaults]\nnetwork = \"none\"\ntimeout = \"10s\"\n"
                "memory = { max = \"512MiB\", by = \"any\" }\nfilesystem.readable = [{ path = ",
                out);
    tc_cli_json_string(out, host);
    (void)fputs(", optional = true }]\n", out);
    if (!fclose(out) && toolcage_policy_load_buffer(text, size, "/diff.toml", &policy, NULL))
        policy = NULL;
    free(text);
    return policy;
}

/* One change, with its texts. */
struct pair {
    const char *path, *host, *kind, *text;
};

static struct toolcage_call *compare(struct toolcage_engine *engine, const struct pair *p)
{
    static const char none[] = "/dev/null";
    struct toolcage_policy *policy = grant(p->host);
    struct toolcage_call *call = NULL;
    bool added = !strcmp(p->kind, "added"), deleted = !strcmp(p->kind, "deleted");
    const char *const command[] = {"diff",    "-u",
                                   "--label", added ? none : p->path,
                                   "--label", deleted ? none : p->path,
                                   "--",      added ? none : p->host,
                                   "-"};
    bool fine = policy && !toolcage_call_new(engine, policy, NULL, &call, NULL) &&
                !toolcage_call_set_command(call, TC_COUNT(command), command, NULL) &&
                !toolcage_call_set_stdin(call, p->text, strlen(p->text), NULL) &&
                !toolcage_call_run(call, NULL);
    (void)toolcage_policy_unref(policy);
    return fine ? call : toolcage_call_unref(call);
}

/* The first two lines of a diff are its names. */
static void count_lines(const char *text, size_t length, struct tc_review_lines *lines)
{
    const char *end = text + length;
    for (size_t i = 0; text && text < end; i++) {
        lines->added += i > 1 && *text == '+';
        lines->removed += i > 1 && *text == '-';
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
}

/* diff(1) ends with 0 or 1 when it could compare. */
static bool put_one(FILE *out, struct toolcage_engine *engine, const struct pair *pair,
                    struct tc_review_lines *lines)
{
    struct toolcage_call *call = compare(engine, pair);
    const struct toolcage_result *result = call ? toolcage_call_result(call) : NULL;
    int32_t code = result ? toolcage_result_exit_code(result) : -1;
    size_t length = 0;
    const char *bytes = code == 0 || code == 1 ? toolcage_result_output(result, 1, &length) : "";
    (void)fwrite(bytes, 1, length, out);
    count_lines(bytes, length, lines);
    (void)toolcage_call_unref(call);
    return code == 0 || code == 1;
}

/* What is being compared, and how many more may be. */
struct comparing {
    struct toolcage_engine *engine;
    struct tc_slice answer;
    const struct tc_review *review;
    struct tc_review_lines *lines;
    int room;
};

/* One change of a file, or why its content is not shown; NULL: it is, or there is none. */
static const char *put_change(FILE *out, struct comparing *c, const struct tc_review_row *row)
{
    _autofree_ char *path = tc_json_text(tc_json_get(row->json, "path"));
    _autofree_ char *host = tc_json_text(tc_json_get(row->json, "host"));
    struct tc_slice file = file_of(c->answer, row->json);
    bool deleted = !strcmp(row->kind, "deleted");
    if (row->directory || row->link || (!deleted && !file.at))
        return NULL; /* its line says all */
    _autofree_ char *text = deleted ? strdup("") : tc_json_text(tc_json_get(file, "text"));
    const struct pair pair = {tc_review_name(c->review, row), host, row->kind, text};
    if (!text)
        return tc_json_get(file, "base64").at ? "not text" : "too large";
    if (!path || !host)
        return "its name is not UTF-8";
    if (--c->room < 0)
        return "one of too many";
    if (put_one(out, c->engine, &pair, c->lines))
        return NULL;
    return deleted ? "what is removed is not text" : "diff cannot show it";
}

static void put_row(FILE *out, FILE *left, struct comparing *c, const struct tc_review_row *row)
{
    const char *why = put_change(out, c, row);
    if (!why)
        return;
    c->lines->uncompared++;
    (void)fprintf(left, "not compared  %s  (%s)\n", tc_review_name(c->review, row), why);
}

void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                 const struct tc_review *review, struct tc_review_lines *lines)
{
    struct comparing c = {engine, answer, review, lines, TC_DIFF_MOST};
    _autofree_ char *names = NULL;
    size_t size = 0;
    FILE *left = open_memstream(&names, &size);
    for (size_t i = 0; left && i < review->count; i++)
        if (!tc_review_hides(review, &review->rows[i]))
            put_row(out, left, &c, &review->rows[i]);
    if (left && !fclose(left))
        (void)fputs(names, out);
}

void tc_diff_put_row(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                     const struct tc_review *review, const struct tc_review_row *row)
{
    struct tc_review_lines lines = {0};
    struct comparing c = {engine, answer, review, &lines, 1};
    put_row(out, out, &c, row);
}

char *tc_review_whole(struct toolcage_engine *engine, struct tc_slice answer,
                      const struct tc_review *review)
{
    struct tc_review_lines lines = {0};
    _autofree_ char *diff = NULL;
    char *text = NULL;
    size_t size = 0, length = 0;
    FILE *diffs = open_memstream(&diff, &length), *out = open_memstream(&text, &size);
    if (diffs)
        tc_diff_put(diffs, engine, answer, review, &lines);
    bool fine = diffs && !fclose(diffs) && out;
    _autofree_ char *sum = fine ? tc_review_sum(review, &lines) : NULL;
    if (sum) {
        tc_review_put(out, review);
        if (*sum || !review->count)
            (void)fprintf(out, "%s\n", *sum ? sum : "nothing is held");
        (void)fwrite(diff, 1, length, out);
    }
    if (out && !fclose(out) && sum)
        return text;
    free(text);
    return NULL;
}
