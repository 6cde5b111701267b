/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/lines.h"

#include <stdio.h>
#include <string.h>

enum { CONTEXT = 3 };

struct lines {
    const char *text;
    size_t count;
};

static const char *end_of(const char *line)
{
    const char *end = strchrnul(line, '\n');
    return *end ? end + 1 : end;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text = end_of(text))
        n++;
    return n;
}

static const char *line_at(const char *text, size_t index)
{
    while (index-- && *text)
        text = end_of(text);
    return text;
}

static bool same_line(const char *a, const char *b)
{
    size_t la = (size_t)(end_of(a) - a), lb = (size_t)(end_of(b) - b);
    return la == lb && !memcmp(a, b, la);
}

static void print_lines(FILE *out, char mark, const char *text, size_t from, size_t until)
{
    for (const char *line = line_at(text, from); from < until; from++, line = end_of(line)) {
        const char *end = end_of(line);
        (void)fprintf(out, "%c%.*s", mark, (int)(end - line), line);
        if (end[-1] != '\n')
            (void)fputs("\n\\ No newline at end of file\n", out);
    }
}

static void print_hunk(FILE *out, struct lines a, struct lines b, size_t head, size_t tail)
{
    size_t from = head > CONTEXT ? head - CONTEXT : 0;
    size_t after = tail > CONTEXT ? CONTEXT : tail;
    size_t a_end = a.count - tail, b_end = b.count - tail;
    (void)fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + (a.count != 0), a_end + after - from,
                  from + (b.count != 0), b_end + after - from);
    print_lines(out, ' ', a.text, from, head);
    print_lines(out, '-', a.text, head, a_end);
    print_lines(out, '+', b.text, head, b_end);
    print_lines(out, ' ', a.text, a_end, a_end + after);
}

char *tc_lines_diff(const char *name, const char *before, const char *after)
{
    struct lines a = {before, count_lines(before)}, b = {after, count_lines(after)};
    size_t least = a.count < b.count ? a.count : b.count, head = 0, tail = 0, size = 0;
    char *diff = NULL;
    while (head < least && same_line(line_at(before, head), line_at(after, head)))
        head++;
    while (tail < least - head &&
           same_line(line_at(before, a.count - tail - 1), line_at(after, b.count - tail - 1)))
        tail++;
    if (head == a.count && head == b.count)
        return strdup("");
    FILE *out = open_memstream(&diff, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "--- %s\n+++ %s\n", name, name);
    print_hunk(out, a, b, head, tail);
    bool whole = !ferror(out);
    if (!fclose(out) && whole)
        return diff;
    free(diff);
    return NULL;
}
