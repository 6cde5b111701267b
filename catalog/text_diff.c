/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints a unified diff of two text files, computed by Myers' algorithm. */
#include "tool.h"

enum { DIFFERENT_MAX = 4000 };

static struct lines a, b;

static bool same(size_t i, size_t j)
{
    return a.items[i].len == b.items[j].len &&
           memcmp(a.items[i].at, b.items[j].at, a.items[i].len) == 0;
}

/* The farthest position on diagonal k with d edits, from the positions with d - 1 edits. */
static long reach(const long *before, long d, long k)
{
    bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
    long x = down ? before[k + 1] : before[k - 1] + 1;
    while (x < (long)a.count && x - k < (long)b.count && same((size_t)x, (size_t)(x - k)))
        x++;
    return x;
}

/* kept[i]: the line of b that equals line i of a, or -1. */
static void trace(long *const *rounds, long last, long *kept)
{
    long x = (long)a.count, y = (long)b.count;
    for (long d = last; d > 0; d--) {
        const long *before = rounds[d - 1];
        long k = x - y;
        bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        long from = down ? k + 1 : k - 1, begin = before[from];
        while (x > begin && y > begin - from && x > (down ? begin : begin + 1)) {
            kept[--x] = --y;
        }
        x = begin;
        y = begin - from;
    }
    while (x > 0)
        kept[--x] = --y;
}

/* A longest common subsequence of the lines. */
static long *compare(void)
{
    long *kept = take(NULL, (a.count + 1) * sizeof(*kept));
    long **rounds = take(NULL, (DIFFERENT_MAX + 1) * sizeof(*rounds));
    for (size_t i = 0; i <= a.count; i++)
        kept[i] = -1;
    for (long d = 0; d <= DIFFERENT_MAX; d++) {
        long *now = take(NULL, (size_t)(2 * d + 3) * sizeof(*now));
        now += d + 1; /* from -(d + 1) to d + 1 */
        now[-d - 1] = now[d + 1] = -1;
        rounds[d] = now;
        for (long k = -d; k <= d; k += 2) {
            static long origin[] = {-1, -1, 0}; /* before the first round: [1] is 0 */
            now[k] = reach(d ? rounds[d - 1] : origin + 1, d, k);
            if (d == 0 || k < d)
                now[k + 1] = -1;
            if (now[k] >= (long)a.count && now[k] - k >= (long)b.count)
                return trace(rounds, d, kept), kept;
        }
    }
    fail("the files differ in more than %d lines", DIFFERENT_MAX);
}

static void show(char column, const struct text *line)
{
    (void)putchar(column);
    (void)fwrite(line->at, 1, line->len, stdout);
    if (!line->len || line->at[line->len - 1] != '\n')
        printf("\n\\ No newline at end of file\n");
}

/* A position in both files, up to which all lines are handled. */
struct spot {
    size_t i, j;
};

/* The next change at or after `from`; false: none. */
static bool next_change(const long *kept, struct spot from, struct spot *ret)
{
    while (from.i < a.count && kept[from.i] == (long)from.j)
        from.i++, from.j++;
    *ret = from;
    return from.i < a.count || from.j < b.count;
}

static struct spot past_change(const long *kept, struct spot at)
{
    while (at.i < a.count && kept[at.i] < 0)
        at.i++;
    at.j = at.i < a.count ? (size_t)kept[at.i] : b.count;
    return at;
}

static void show_hunk(const long *kept, struct spot from, struct spot end)
{
    size_t n = end.i - from.i, m = end.j - from.j;
    printf("@@ -%zu,%zu +%zu,%zu @@\n", from.i + (n > 0), n, from.j + (m > 0), m);
    while (from.i < end.i || from.j < end.j)
        if (from.i < end.i && kept[from.i] < 0)
            show('-', &a.items[from.i++]);
        else if (from.j < end.j && (from.i == end.i || kept[from.i] != (long)from.j))
            show('+', &b.items[from.j++]);
        else
            show(' ', &a.items[from.i++]), from.j++;
}

/* Nearby changes share a hunk. */
static void show_all(const long *kept, size_t context)
{
    struct spot at = {0, 0}, change;
    while (next_change(kept, at, &change)) {
        size_t before = change.i - at.i < context ? change.i - at.i : context;
        struct spot from = {change.i - before, change.j - before}, next;
        at = past_change(kept, change);
        while (next_change(kept, at, &next) && next.i - at.i <= 2 * context)
            at = past_change(kept, next);
        size_t rest = a.count - at.i, after = rest < context ? rest : context;
        while (after && kept[at.i + after - 1] != (long)(at.j + after - 1))
            after--;
        at = (struct spot){at.i + after, at.j + after};
        show_hunk(kept, from, at);
    }
}

int main(void)
{
    read_arguments();
    const char *from = argument_text("from", NULL), *to = argument_text("to", NULL);
    struct text old = read_file(from), new = read_file(to);
    long context = argument_number("context", 3);
    a = split(&old);
    b = split(&new);
    if (old.len == new.len && memcmp(old.at, new.at, old.len) == 0)
        return puts("the files are the same") < 0;
    printf("--- %s\n+++ %s\n", from, to);
    show_all(compare(), context < 0 ? 0 : (size_t)context);
    return 0;
}
