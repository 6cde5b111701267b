/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Versions of container runtimes with known container escapes. */
#include "plan/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum { PARTS = 3 };

/* The version of each branch that fixed the escape. Branch 0.0: all versions older than the first
 * branch that has a row. */
static const struct escape {
    const char *program, *names;
    struct {
        int since[2], closed[PARTS];
    } branches[2];
} escapes[] = {
    {"runc", "CVE-2019-5736", {{{0, 0}, {1, 0, 0}}}},
    {"runc", "CVE-2024-21626", {{{0, 0}, {1, 1, 12}}}},
    {"runc",
     "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881",
     {{{0, 0}, {1, 2, 8}}, {{1, 3}, {1, 3, 3}}}},
    {"crun", "CVE-2025-24965 (its krun handler)", {{{0, 0}, {1, 20, 0}}}},
};

static int compare_versions(const int *a, const int *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* The fixed version in this version's branch; NULL: this version has the fix. */
static const int *closed_in(const struct escape *e, const int version[PARTS])
{
    const int *closed = NULL;
    for (size_t i = 0; i < TC_COUNT(e->branches); i++)
        if (e->branches[i].closed[0] && compare_versions(version, e->branches[i].since, 2) >= 0)
            closed = e->branches[i].closed;
    return closed && compare_versions(version, closed, PARTS) < 0 ? closed : NULL;
}

static void add_known(struct tc_buf *out, const char *program, const char *text)
{
    int version[PARTS] = {0};
    if (sscanf(text, "%4d.%4d.%4d", &version[0], &version[1], &version[2]) < 2)
        return;
    for (size_t i = 0; i < TC_COUNT(escapes); i++) {
        const int *closed =
            strcmp(escapes[i].program, program) == 0 ? closed_in(&escapes[i], version) : NULL;
        if (closed)
            tc_buf_addf(out, "%s %s fixed in %s %d.%d.%d", out->len ? "," : ";", escapes[i].names,
                        program, closed[0], closed[1], closed[2]);
    }
}

char *tc_known_escapes(const char *text)
{
    static const char *const programs[] = {"runc", "crun"};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(programs); i++) {
        size_t n = strlen(programs[i]);
        for (const char *at = text; (at = strstr(at, programs[i])); at += n)
            if (at[n] == ' ')
                add_known(&out, programs[i], at + n + 1);
    }
    if (out.len)
        tc_buf_adds(&out, " (your distribution may have backported the fix)");
    return out.len ? tc_buf_steal(&out) : strdup("");
}
