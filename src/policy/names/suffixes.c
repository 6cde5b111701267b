/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/suffixes.h"

#include <stdlib.h>
#include <string.h>

#include "base/strv.h"

static int compare(const void *a, const void *b)
{
    const struct tc_suffix *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->rule, y->rule, n);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

bool tc_suffixes_read(struct tc_suffixes *ret, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        size_t n = 0;
        while (at + n < stop && (unsigned char)at[n] > ' ')
            n++;
        struct tc_suffix *rule =
            n && !(n > 1 && at[0] == '/' && at[1] == '/') ? TC_PUSH(ret->rules, ret->count) : NULL;
        if (rule)
            *rule = (struct tc_suffix){at, n};
        else if (n && at[0] != '/')
            return false;
        at = newline ? newline + 1 : end;
    }
    if (ret->count)
        qsort(ret->rules, ret->count, sizeof(*ret->rules), compare);
    return true;
}

void tc_suffixes_done(struct tc_suffixes *suffixes)
{
    free(suffixes->rules);
    *suffixes = (struct tc_suffixes){0};
}

static bool has_rule(const struct tc_suffixes *suffixes, const char *before, const char *name)
{
    char text[300];
    size_t n = strlen(before), m = strlen(name);
    if (!suffixes->count || n + m >= sizeof(text))
        return false;
    memcpy(text, before, n);
    memcpy(text + n, name, m);
    const struct tc_suffix wanted = {text, n + m};
    return bsearch(&wanted, suffixes->rules, suffixes->count, sizeof(wanted), compare) != NULL;
}

bool tc_suffixes_has(const struct tc_suffixes *suffixes, const char *host)
{
    const char *dot = strchr(host, '.');
    if (has_rule(suffixes, "!", host))
        return false;
    return has_rule(suffixes, "", host) || (dot && has_rule(suffixes, "*.", dot + 1));
}
