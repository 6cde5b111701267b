/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A row: path components joined by slashes, each with at most one `*`. */
#ifndef TC_POLICY_NAMES_ROW_H
#define TC_POLICY_NAMES_ROW_H

#include <stdbool.h>
#include <string.h>

/* The length of the first component. */
static inline size_t tc_row_width(const char *at)
{
    return strcspn(at, "/");
}

/* Does a component match the row's first component? */
static inline bool tc_row_same(const char *row, const char *name)
{
    size_t r = tc_row_width(row), n = tc_row_width(name);
    const char *star = memchr(row, '*', r);
    if (!star)
        return r == n && memcmp(row, name, n) == 0;
    size_t before = (size_t)(star - row), after = r - before - 1;
    return n >= before + after && memcmp(row, name, before) == 0 &&
           memcmp(star + 1, name + n - after, after) == 0;
}

#endif
