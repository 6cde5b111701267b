/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Suppressing comments: "# toolcage: allow(secret-and-network) the reason", in the line of a
 * finding or the line before. Read from the text, because readers drop comments. A comment without
 * a reason has no effect; one that suppresses nothing is itself a finding, so that comments are
 * removed with their cause. */
#include <string.h>

#include "policy/lint/lint_rules.h"

struct silence {
    uint32_t line, target;
    const char *id;
    size_t id_len;
    const struct tc_lint_rule *rule; /* NULL: unknown */
    const char *reason;
    size_t reason_len;
    bool used;
};

struct silences {
    struct silence *items;
    size_t count;
    size_t next; /* all lines from the last comment to this one are blank or comments */
};

/* The end of the string that begins at `at`. Three quotes set *open, because the string may
 * continue on later lines. */
static const char *skip_string(const char *at, const char *end, char *open)
{
    char q = *at;
    bool three = end - at >= 3 && at[1] == q && at[2] == q;
    if (three) {
        *open = q;
        return at + 3;
    }
    for (at++; at < end && *at != q; at++)
        if (*at == '\\' && q == '"' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

static const char *leave_string(const char *at, const char *end, char *open)
{
    for (; at < end; at++) {
        if (*at == '\\' && *open == '"') {
            at++;
        } else if (end - at >= 3 && at[0] == *open && at[1] == *open && at[2] == *open) {
            *open = 0;
            return at + 3;
        }
    }
    return end;
}

/* The line's comment, after its "#", or NULL. */
static const char *comment_of(const struct tc_lint_line *line, char *open)
{
    const char *at = line->at, *end = line->at + line->len;
    while (at < end) {
        if (*open)
            at = leave_string(at, end, open);
        else if (*at == '"' || *at == '\'')
            at = skip_string(at, end, open);
        else if (*at == '#')
            return at + 1;
        else
            at++;
    }
    return NULL;
}

static bool says_nothing(const struct tc_lint_line *line)
{
    size_t i = 0;
    while (i < line->len && (line->at[i] == ' ' || line->at[i] == '\t'))
        i++;
    return i == line->len || line->at[i] == '#';
}

static bool same_file(const struct tc_lint *l, size_t index, uint32_t line)
{
    return TC_LINE_FILE(l->lines[index].line) == TC_LINE_FILE(line);
}

/* The line to which a comment applies: its own if it has other text, else the next such line. */
static uint32_t target_of(const struct tc_lint *l, size_t index, struct silences *all)
{
    uint32_t here = l->lines[index].line;
    if (!says_nothing(&l->lines[index]))
        return here;
    if (all->next < index)
        all->next = index;
    while (all->next < l->line_count && same_file(l, all->next, here) &&
           says_nothing(&l->lines[all->next]))
        all->next++;
    return l->lines[all->next - 1].line + 1;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static bool add_ids(struct silences *all, const struct silence *common, const char *at,
                    const char *close)
{
    while (at < close) {
        const char *comma = memchr(at, ',', (size_t)(close - at));
        const char *stop = comma ? comma : close;
        const char *id = skip_blanks(at, stop), *tail = stop;
        while (tail > id && (tail[-1] == ' ' || tail[-1] == '\t'))
            tail--;
        struct silence *one = TC_PUSH(all->items, all->count);
        if (!one)
            return false;
        *one = *common;
        one->id = id;
        one->id_len = (size_t)(tail - id);
        one->rule = tc_lint_rule_find(id, one->id_len);
        at = comma ? comma + 1 : close;
    }
    return true;
}

static bool read_comment(const struct tc_lint *l, size_t index, const char *comment,
                         struct silences *all)
{
    static const char words[] = "toolcage: allow(";
    const char *end = l->lines[index].at + l->lines[index].len;
    const char *at = skip_blanks(comment, end);
    size_t n = sizeof(words) - 1;
    if ((size_t)(end - at) < n || memcmp(at, words, n) != 0)
        return true;
    const char *close = memchr(at, ')', (size_t)(end - at));
    const char *reason = close ? skip_blanks(close + 1, end) : end;
    struct silence common = {.line = l->lines[index].line,
                             .target = target_of(l, index, all),
                             .reason = reason,
                             .reason_len = (size_t)(end - reason)};
    while (common.reason_len && reason[common.reason_len - 1] == ' ')
        common.reason_len--;
    return add_ids(all, &common, at + n, close ? close : end);
}

static bool read_all(const struct tc_lint *l, struct silences *all)
{
    char open = 0;
    for (size_t i = 0; i < l->line_count; i++) {
        if (TC_LINE_NUMBER(l->lines[i].line) == 1)
            open = 0;
        const char *comment = comment_of(&l->lines[i], &open);
        if (comment && !read_comment(l, i, comment, all))
            return false;
    }
    return true;
}

/* The index of the first comment for the line; comments are in line order. */
static size_t first_for(const struct silences *all, uint32_t line)
{
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->items[middle].target < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void silence(struct tc_lint *l, const struct silences *all, struct tc_lint_finding *f)
{
    for (size_t i = first_for(all, f->at.line);
         f->at.line && i < all->count && all->items[i].target == f->at.line; i++) {
        struct silence *s = &all->items[i];
        if (s->rule != f->rule)
            continue;
        s->used = true;
        if (s->reason_len && !f->silenced && !(f->silenced = strndup(s->reason, s->reason_len)))
            l->memory = true;
    }
}

static void report_silence(struct tc_lint *l, const struct silence *s)
{
    static const char *const ids[] = {"silence-unknown", "silence-unused",
                                      "silence-without-reason"};
    size_t which = !s->rule ? 0 : !s->used ? 1 : 2;
    if (which == 1 && TC_LINE_FILE(s->line)) /* another policy that extends this file may need it */
        return;
    _autofree_ char *id = strndup(s->id, s->id_len > 80 ? 80 : s->id_len);
    if (!id) {
        l->memory = true;
        return;
    }
    l->rule = tc_lint_rule_find(ids[which], strlen(ids[which]));
    if (which == 0)
        tc_lint_add(l, NULL, "", s->line, id, "write the id in brackets after a finding",
                    "there is no finding \"%s\" to allow", id);
    else if (which == 1)
        tc_lint_add(l, NULL, "", s->line, id,
                    "remove it, or move it to the line of the finding or the line before",
                    "there is no finding %s here: the comment has no effect", id);
    else
        tc_lint_add(l, NULL, "", s->line, id, "write the reason after the bracket",
                    "%s is allowed without a reason, so it is still reported", id);
}

void tc_lint_silence(struct tc_lint *l)
{
    struct silences all = {0};
    l->memory |= !read_all(l, &all);
    for (size_t i = 0; !l->memory && i < l->count; i++)
        silence(l, &all, &l->findings[i]);
    for (size_t i = 0; !l->memory && i < all.count; i++)
        if (!all.items[i].rule || !all.items[i].used || !all.items[i].reason_len)
            report_silence(l, &all.items[i]);
    free(all.items);
}
