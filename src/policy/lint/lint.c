/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A lint run: each rule on each tool, suppressing comments, and the findings as JSON. Rules that
 * compare tools use an index, so that the run time is not quadratic in the policy's size. */
#include "policy/lint/lint.h"

#include <string.h>

#include "base/display.h"
#include "base/jsontext.h"
#include "policy/diag.h"
#include "policy/lint/lint_rules.h"

static const char *const severities[] = {"note", "warning", "error"};

static int by_place(const void *a, const void *b)
{
    const struct tc_lint_finding *x = a, *y = b;
    if (x->at.line != y->at.line)
        return x->at.line < y->at.line ? -1 : 1;
    if (x->at.column != y->at.column)
        return x->at.column < y->at.column ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    return strcmp(x->message, y->message);
}

static void finding_done(struct tc_lint_finding *f)
{
    free(f->key);
    free(f->message);
    free(f->hint);
    free(f->silenced);
}

/* Sorts findings by location. A finding that two tools inherit is reported once. */
static void sort_findings(struct tc_lint *l)
{
    size_t kept = 0;
    if (l->count)
        qsort(l->findings, l->count, sizeof(*l->findings), by_place);
    for (size_t i = 0; i < l->count; i++) {
        if (kept && by_place(&l->findings[kept - 1], &l->findings[i]) == 0)
            finding_done(&l->findings[i]);
        else
            l->findings[kept++] = l->findings[i];
    }
    l->count = kept;
}

/* ---- the run ---- */

static bool split_lines(struct tc_lint *l, const char *text, size_t length, size_t file)
{
    const char *end = text + length;
    uint32_t number = (uint32_t)file << TC_LINE_BITS;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        struct tc_lint_line *line = TC_PUSH(l->lines, l->line_count);
        if (!line)
            return false;
        line->at = at;
        line->line = ++number;
        line->len = (size_t)(stop - at);
        line->len -= line->len && stop[-1] == '\r';
        at = newline ? newline + 1 : end;
    }
    return true;
}

/* Splits the policy's text and the files that it extends into lines. */
static bool split_all(struct tc_lint *l, const char *text, size_t length)
{
    const struct toolcage_policy *policy = l->policy;
    bool fine = split_lines(l, text, length, 0);
    for (size_t i = 1; fine && i < policy->file_count; i++)
        fine = split_lines(l, policy->files[i].text, policy->files[i].len, i);
    return fine;
}

static uint64_t keys_said(const struct tc_spec *spec)
{
    uint64_t keys = 0;
    for (int i = 0; i < TC_KEY_COUNT; i++)
        keys |= spec->said[i] ? (uint64_t)1 << i : 0;
    return keys;
}

static void look_at(struct tc_lint *l, const struct tc_spec *spec)
{
    uint64_t said = spec ? keys_said(spec) : 0;
    for (const struct tc_lint_rule *rule = tc_lint_rules; rule->id && !l->memory; rule++) {
        l->rule = rule;
        if (rule->each && (rule->keys & said))
            rule->each(l, spec);
    }
}

static void look_at_all(struct tc_lint *l)
{
    const struct toolcage_policy *policy = l->policy;
    look_at(l, &policy->defaults);
    for (size_t i = 0; i < policy->tool_count; i++) {
        look_at(l, &policy->tools[i]);
        look_at(l, policy->tools[i].setup);
    }
    for (size_t i = 0; i < policy->server_count; i++) {
        look_at(l, &policy->servers[i].spec);
        look_at(l, policy->servers[i].spec.setup);
    }
    for (const struct tc_lint_rule *rule = tc_lint_rules; rule->id && !l->memory; rule++) {
        l->rule = rule;
        if (rule->whole)
            rule->whole(l);
    }
}

/* ---- as JSON ---- */

/* The finding as readable text, in the format of policy errors. */
static void add_text(const struct tc_lint *l, const struct tc_lint_finding *f, struct tc_buf *out)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const struct tc_lint_line *line = tc_lint_line(l, f->at.line);
    tc_buf_add_display(&text, tc_policy_file(l->policy, f->at.line));
    if (line)
        tc_buf_addf(&text, ":%u:%u", TC_LINE_NUMBER(f->at.line), f->at.column);
    tc_buf_addf(&text, ": %s: ", severities[f->rule->severity]);
    tc_buf_add_display(&text, f->message);
    tc_buf_addf(&text, " [%s]\n", f->rule->id);
    if (line)
        tc_diag_quote(&text, line->at, line->len, f->at);
    tc_buf_adds(&text, "hint: ");
    tc_buf_add_display(&text, f->hint);
    tc_buf_addc(&text, '\n');
    out->failed |= text.failed;
    tc_json_member(out, "text", text.data ? text.data : "");
}

static void add_finding(const struct tc_lint *l, const struct tc_lint_finding *f,
                        struct tc_buf *out)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "id", f->rule->id);
    tc_json_member(out, "severity", severities[f->rule->severity]);
    tc_json_member(out, "key", f->key);
    tc_line_json(out, l->policy, "line", f->at.line);
    tc_json_number(out, "column", f->at.column);
    tc_json_number(out, "span", f->at.span);
    tc_json_member(out, "message", f->message);
    tc_json_member(out, "hint", f->hint);
    if (f->silenced)
        tc_json_member(out, "silenced", f->silenced);
    else
        tc_buf_adds(out, ",\"silenced\":null");
    add_text(l, f, out);
    tc_buf_addc(out, '}');
}

static void add_counts(const struct tc_lint *l, struct tc_buf *out)
{
    size_t counts[TC_COUNT(severities)] = {0}, silenced = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->findings[i].silenced)
            silenced++;
        else
            counts[l->findings[i].rule->severity]++;
    tc_json_key(out, "counts");
    tc_buf_addc(out, '{');
    for (size_t i = TC_COUNT(severities); i-- > 0;)
        tc_json_number(out, severities[i], counts[i]);
    tc_json_number(out, "silenced", silenced);
    tc_json_number(out, "more", l->more);
    tc_buf_addc(out, '}');
}

static char *write_findings(const struct tc_lint *l)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"version\":1");
    tc_json_member(&out, "file", l->policy->name);
    tc_json_key(&out, "findings");
    tc_buf_addc(&out, '[');
    for (size_t i = 0; i < l->count; i++) {
        tc_buf_adds(&out, i ? "," : "");
        add_finding(l, &l->findings[i], &out);
    }
    tc_buf_addc(&out, ']');
    add_counts(l, &out);
    tc_json_key(&out, "unchecked");
    tc_buf_adds(&out, l->unchecked ? "[\"public-suffix\"]" : "[]");
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static void lint_done(struct tc_lint *l)
{
    for (size_t i = 0; i < l->count; i++)
        finding_done(&l->findings[i]);
    for (size_t i = 0; i < l->writable_count; i++)
        free(l->writable[i].host);
    free(l->findings);
    free(l->writable);
    free(l->lines);
    tc_suffixes_done(&l->suffixes);
}

int tc_policy_lint(const struct toolcage_policy *policy, const char *text, size_t length,
                   const struct tc_lint_facts *facts, char **ret, struct toolcage_error **err)
{
    _auto_(lint_done) struct tc_lint l = {.policy = policy, .facts = facts};
    bool fine =
        split_all(&l, text, length) && tc_lint_index(&l) &&
        (!facts->suffixes || tc_suffixes_read(&l.suffixes, facts->suffixes, facts->suffixes_len));
    if (!fine)
        return tc_fail_memory(err);
    look_at_all(&l);
    if (!l.memory)
        sort_findings(&l);
    if (!l.memory)
        tc_lint_silence(&l);
    if (!l.memory)
        sort_findings(&l);
    char *json = l.memory ? NULL : write_findings(&l);
    if (!json)
        return tc_fail_memory(err);
    *ret = json;
    return 0;
}
