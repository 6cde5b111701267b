/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/parse/template.h"

#include <string.h>

static size_t name_length(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!text[0] || !strchr(first, text[0]))
        return 0;
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
}

bool tc_hole_name_fine(const char *name)
{
    size_t n = name_length(name);
    return n && n <= 64 && !name[n];
}

bool tc_hole_find(const char *text, struct tc_hole *ret)
{
    for (const char *open = strchr(text, '{'); open; open = strchr(open + 1, '{')) {
        struct tc_hole hole = {.start = open, .name = open + 1};
        const char *after = open + 2;
        if (open[1] == '*') {
            hole.all = true;
        } else {
            hole.name_len = name_length(hole.name);
            after = hole.name + hole.name_len;
            hole.spread = hole.name_len && strncmp(after, "...", 3) == 0;
            after += hole.spread ? 3 : 0;
        }
        if ((!hole.all && !hole.name_len) || *after != '}')
            continue;
        hole.end = after + 1;
        *ret = hole;
        return true;
    }
    return false;
}
