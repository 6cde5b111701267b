/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds the most similar name, for "did you mean". */
#ifndef TC_TEXT_NEAR_H
#define TC_TEXT_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The edit distance of two names, in which two swapped letters are one mistake; most + 1 if it is
 * larger than `most` or a name is very long. */
static inline unsigned tc_distance(const char *a, const char *b, unsigned most)
{
    enum { LONGEST = 64 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return most + 1;
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = last[j - 1] + (a[i - 1] != b[j - 1]);
            unsigned drop = (last[j] < row[j - 1] ? last[j] : row[j - 1]) + 1;
            row[j] = change < drop ? change : drop;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return row[m] > most ? most + 1 : row[m];
}

/* The search for the candidate that is most similar to a name. `most`: a candidate with a larger
 * distance is not nearer than the best one so far. */
struct tc_near {
    const char *name;
    unsigned most;
};

/* A search that allows one mistake in a short name, and a third of the letters of a long one. */
static inline struct tc_near tc_near_to(const char *name)
{
    size_t n = strlen(name);
    return (struct tc_near){.name = name, .most = n < 6 ? 1 : n < 9 ? 2 : (unsigned)n / 3};
}

/* Is the candidate nearer than all candidates before it? Call it for each; the last one for which
 * it is true is the result. */
static inline bool tc_near_is(struct tc_near *n, const char *candidate)
{
    unsigned distance = tc_distance(candidate, n->name, n->most);
    if (distance > n->most)
        return false;
    n->most = distance ? distance - 1 : 0;
    return true;
}

#endif
