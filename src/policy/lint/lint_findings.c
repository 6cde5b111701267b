/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds a rule's findings, with their location and key. */
#include <string.h>

#include "policy/endpoint.h"
#include "policy/lint/lint_rules.h"

/* Longer lines are not searched: a search for each finding of a line takes quadratic time. */
enum { SEARCHED_MAX = 1 << 16 };

/* Finds the key or path in the line. A path in the home may be written with "~", so its rest is
 * tried too. */
static const char *find_word(const struct tc_lint *l, const struct tc_lint_line *line,
                             const char **needle)
{
    const char *home = l->policy->home, *found = NULL;
    if (line->len > SEARCHED_MAX)
        return NULL;
    if (*needle && **needle)
        found = memmem(line->at, line->len, *needle, strlen(*needle));
    if (found || !*needle || !home || !tc_startswith(*needle, home))
        return found;
    *needle += strlen(home);
    found = **needle ? memmem(line->at, line->len, *needle, strlen(*needle)) : NULL;
    return found;
}

static int compare_line(const void *line, const void *row)
{
    const uint32_t *wanted = line;
    const struct tc_lint_line *r = row;
    return (*wanted > r->line) - (*wanted < r->line);
}

const struct tc_lint_line *tc_lint_line(const struct tc_lint *l, uint32_t line)
{
    return l->line_count ? bsearch(&line, l->lines, l->line_count, sizeof(*l->lines), compare_line)
                         : NULL;
}

static struct tc_location place_on(const struct tc_lint *l, uint32_t line, const char *needle)
{
    struct tc_location at = {.line = line};
    const struct tc_lint_line *whole = tc_lint_line(l, line);
    if (!whole)
        return (struct tc_location){0};
    const char *text = whole->at;
    size_t len = whole->len;
    const char *found = find_word(l, whole, &needle);
    size_t n = found ? strlen(needle) : 0;
    size_t start = found ? (size_t)(found - text) : 0;
    while (!found && start < len && (text[start] == ' ' || text[start] == '\t'))
        start++;
    while (!found && start + n < len && !strchr(" \t=:,]}#", text[start + n]))
        n++;
    at.column = (uint32_t)start + 1;
    at.span = (uint32_t)(n ? n : 1);
    return at;
}

void tc_lint_add(struct tc_lint *l, const struct tc_spec *spec, const char *key, uint32_t line,
                 const char *needle, const char *hint, const char *fmt, ...)
{
    if (l->count == TC_LINT_MAX) {
        l->more++;
        return;
    }
    struct tc_lint_finding *f = TC_PUSH(l->findings, l->count);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (!f) {
        l->memory = true;
        return;
    }
    f->rule = l->rule;
    f->at = place_on(l, line, needle);
    f->key = spec ? tc_spec_key(spec, key) : strdup(key);
    f->hint = strdup(hint);
    f->message = tc_buf_steal(&text);
    l->memory |= !f->key || !f->hint || !f->message;
}

const struct tc_spec *tc_lint_given(const struct tc_lint *l, const struct tc_spec *spec,
                                    enum tc_key_id id)
{
    return tc_policy_given(l->policy, spec, id);
}

char *tc_lint_endpoints(struct tc_lint *l, const struct tc_spec *net)
{
    const struct tc_net_entry *first = &net->net[0];
    _autofree_ char *one = tc_streq(first->host, "*") ? strdup("every public address")
                                                      : tc_endpoint_write(first->host, first->port);
    char *all = !one                 ? NULL
                : net->net_count > 1 ? tc_format("%s and %zu more", one, net->net_count - 1)
                                     : TAKE(one);
    l->memory |= !all;
    return all;
}
