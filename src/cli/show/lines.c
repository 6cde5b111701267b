/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A unified diff of two texts that differ in one place. */
#include "cli/show/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 3 };

/* Where each line begins, and where the text ends. */
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
        const char *line = lines->at[from], *end = lines->at[from + 1];
        (void)fprintf(out, "%c%.*s", mark, (int)(end - line), line);
        if (end[-1] != '\n')
            (void)fputs("\n\\ No newline at end of file\n", out);
    }
}

/* A count of 1 is not printed, and a range without lines is numbered by the line before it. */
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
