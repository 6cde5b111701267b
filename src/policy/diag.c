/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/diag.h"

#include <string.h>

#include "base/buf.h"
#include "base/display.h"
#include "policy/model.h"
#include "text/utf8.h"

enum { QUOTE_MAX = 160 };

static void finding_done(struct tc_finding *f)
{
    free(f->message);
    free(f->hint);
    free(f->subject);
    memset(f, 0, sizeof(*f));
}

static bool before(struct tc_location a, struct tc_location b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/* Keeps the first TC_FINDINGS_MAX findings, sorted by location. Takes ownership of the finding. */
static void insert(struct tc_diag *diag, struct tc_finding *f)
{
    size_t i = diag->count;
    while (i > 0 && before(f->at, diag->items[i - 1].at))
        i--;
    if (diag->count == TC_FINDINGS_MAX) {
        diag->more++;
        if (i == diag->count) {
            finding_done(f);
            return;
        }
        finding_done(&diag->items[--diag->count]);
    }
    memmove(&diag->items[i + 1], &diag->items[i], (diag->count - i) * sizeof(*f));
    diag->items[i] = *f;
    diag->count++;
}

void tc_diag_add(struct tc_diag *diag, struct tc_location at, const char *subject, const char *hint,
                 const char *fmt, ...)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&buf, fmt, ap);
    va_end(ap);
    struct tc_finding f = {.at = at, .message = tc_buf_steal(&buf)};
    f.subject = strdup(subject ? subject : "");
    f.hint = strdup(hint ? hint : "");
    if (!f.message || !f.subject || !f.hint) {
        diag->memory = true;
        finding_done(&f);
        return;
    }
    insert(diag, &f);
}

static const char *file_name(const struct tc_diag *diag, uint32_t line)
{
    return diag->policy ? tc_policy_file(diag->policy, line) : diag->name;
}

static const char *find_line(const struct tc_diag *diag, uint32_t line, size_t *ret_len)
{
    size_t file = TC_LINE_FILE(line);
    const char *p = file ? diag->policy->files[file].text : diag->text;
    const char *end = p + (file ? diag->policy->files[file].len : diag->len);
    line = TC_LINE_NUMBER(line);
    for (uint32_t n = 1; n < line && p < end; n++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    *ret_len = (size_t)((newline ? newline : end) - p);
    if (*ret_len && p[*ret_len - 1] == '\r')
        --*ret_len;
    return p;
}

/* The quoted line may be printed on a terminal, so control characters are replaced. */
static void add_quoted(struct tc_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        tc_buf_addc(out, (c < 0x20 && c != '\t') || c == 0x7f ? '?' : text[i]);
    }
}

void tc_diag_quote(struct tc_buf *out, const char *line, size_t len, struct tc_location at)
{
    size_t first = 0;
    size_t column = at.column ? at.column - 1 : 0;
    if (!at.line || (len == 0 && column == 0))
        return;
    column = column > len ? len : column;
    if (column > QUOTE_MAX / 2)
        first = column - QUOTE_MAX / 2;
    while (first && first < len && tc_utf8_inside(line[first]))
        first++;
    size_t shown = len - first > QUOTE_MAX ? QUOTE_MAX : len - first;
    tc_buf_addf(out, "%5u | ", TC_LINE_NUMBER(at.line));
    add_quoted(out, line + first, shown);
    tc_buf_adds(out, "\n      | ");
    for (size_t i = first; i < column; i++)
        if (line[i] == '\t')
            tc_buf_addc(out, '\t');
        else if (!tc_utf8_inside(line[i]))
            tc_buf_addc(out, ' ');
    tc_buf_addc(out, '^');
    for (size_t i = column + 1; i < column + at.span && i < first + shown; i++)
        if (!tc_utf8_inside(line[i]))
            tc_buf_addc(out, '~');
    tc_buf_addc(out, '\n');
}

/* An untrusted policy may name any file, and a model may read the report, so only files in the
 * policy's directory are quoted. */
static bool quotable(const struct tc_diag *diag, size_t file)
{
    const struct tc_policy_file *files = diag->policy ? diag->policy->files : NULL;
    const char *beside = diag->beside || !files || !file ? diag->beside : files[0].real;
    const char *real = files ? files[file].real : NULL,
               *slash = beside ? strrchr(beside, '/') : NULL;
    if (!real || (!file && !diag->beside))
        return true;
    return slash && strncmp(real, beside, (size_t)(slash - beside) + 1) == 0;
}

static void add_source(struct tc_buf *out, const struct tc_diag *diag, struct tc_location at)
{
    if (!quotable(diag, TC_LINE_FILE(at.line)))
        return;
    size_t len = 0;
    const char *line = find_line(diag, at.line, &len);
    tc_diag_quote(out, line, len, at);
}

static void add_finding(struct tc_buf *out, const struct tc_diag *diag, const struct tc_finding *f)
{
    tc_buf_add_display(out, file_name(diag, f->at.line));
    tc_buf_addf(out, ":%u:%u: error: ", TC_LINE_NUMBER(f->at.line), f->at.column);
    tc_buf_add_display(out, f->message);
    tc_buf_addc(out, '\n');
    add_source(out, diag, f->at);
    for (uint32_t line = f->at.line; TC_LINE_FILE(line);) {
        line = diag->policy->files[TC_LINE_FILE(line)].by;
        tc_buf_adds(out, "extended by ");
        tc_buf_add_display(out, file_name(diag, line));
        tc_buf_addf(out, ":%u\n", TC_LINE_NUMBER(line));
    }
    if (!f->hint[0])
        return;
    tc_buf_adds(out, "hint: ");
    tc_buf_add_display(out, f->hint);
    tc_buf_addc(out, '\n');
}

int tc_diag_result(const struct tc_diag *diag, struct toolcage_error **err)
{
    if (diag->memory)
        return tc_fail_memory(err);
    if (!diag->count)
        return 0;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < diag->count; i++)
        add_finding(&out, diag, &diag->items[i]);
    if (diag->more)
        tc_buf_addf(&out, "%s: %zu more error%s\n", diag->name, diag->more,
                    diag->more == 1 ? "" : "s");
    _autofree_ char *report = tc_buf_steal(&out);
    if (!report)
        return tc_fail_memory(err);
    const struct tc_finding *f = &diag->items[0];
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EPOLICY,
                                    .stage = "policy",
                                    .subject = f->subject,
                                    .hint = f->hint,
                                    .file = file_name(diag, f->at.line),
                                    .line = TC_LINE_NUMBER(f->at.line),
                                    .column = f->at.column,
                                    .report = report},
                   "%s", f->message);
}

void tc_diag_done(struct tc_diag *diag)
{
    for (size_t i = 0; i < diag->count; i++)
        finding_done(&diag->items[i]);
    diag->count = 0;
}
