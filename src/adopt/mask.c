/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Settings for display: without the secrets in them, and without the long rest of a line that holds
 * a whole file. */
#include <stdlib.h>
#include <string.h>

#include "adopt/adopt.h"
#include "base/buf.h"
#include "base/jsonc.h"
#include "policy/names/credentials.h"

enum { LINE_MAX_BYTES = 400, AROUND = 80, TOKENS_MAX = 100 };

static const char hidden_text[] = "\xe2\x80\xa6";

struct masking {
    const char *text, *plain; /* plain: with blanks for comments */
    size_t length;
    char *hide; /* for each byte */
    char *before;
    bool failed;
};

/* ---- strings ---- */

/* The end of the string's content; SIZE_MAX: it does not end in this line. */
static size_t string_end(const struct masking *m, size_t at)
{
    char quote = m->plain[at];
    for (size_t i = at + 1; i < m->length && m->plain[i] != '\n'; i++) {
        if (m->plain[i] == quote)
            return i;
        i += quote == '"' && m->plain[i] == '\\';
    }
    return SIZE_MAX;
}

static size_t skip_back(const struct masking *m, size_t at)
{
    while (at && strchr(" \t\r\n", m->plain[at - 1]) && m->plain[at - 1])
        at--;
    return at;
}

/* The key before a value whose colon or equals sign is right before `at`; owned. */
static char *key_before(const struct masking *m, size_t at)
{
    size_t end = skip_back(m, at), start;
    if (end && (m->plain[end - 1] == '"' || m->plain[end - 1] == '\'')) {
        char quote = m->plain[--end];
        for (start = end; start && m->plain[start - 1] != quote && m->plain[start - 1] != '\n';)
            start--;
    } else {
        for (start = end; start && !strchr(" \t\r\n{,.", m->plain[start - 1]);)
            start--;
    }
    return strndup(m->plain + start, end - start);
}

/* The name that a value has: its key, or the option before it in a list; owned, "" for none. */
static char *name_of(struct masking *m, size_t at)
{
    size_t end = skip_back(m, at);
    char before = end ? m->plain[end - 1] : '\0';
    if (before == ':' || before == '=')
        return key_before(m, end - 1);
    return before == ',' && m->before && m->before[0] == '-' ? strdup(m->before) : strdup("");
}

static void hide(struct masking *m, size_t at, size_t end)
{
    memset(m->hide + at, 1, end - at);
}

/* How much of a secret value is shown: what precedes the part that makes it one. */
static size_t shown(const char *name, const char *value)
{
    const char *secret = tc_adopt_named_secret(value);
    if (!secret || tc_adopt_is_secret(name, "x"))
        return 0;
    _autofree_ char *before = strndup(value, (size_t)(secret - value));
    return before && !tc_adopt_is_secret("", before) ? strlen(before) : 0;
}

/* Has it characters that are not seen as they are? */
static bool is_escaped(const char *text)
{
    for (const char *at = strchr(text, '\\'); at && at[1]; at = strchr(at + 2, '\\'))
        if (strchr("uUx", at[1]))
            return true;
    return false;
}

static void mask_string(struct masking *m, size_t at, size_t end)
{
    _autofree_ char *name = name_of(m, at);
    char *value = strndup(m->text + at + 1, end - at - 1);
    if (!name || !value)
        m->failed = true;
    else if (is_escaped(name) || is_escaped(value))
        hide(m, at + 1, end);
    else if (tc_adopt_is_secret(name, value))
        hide(m, at + 1 + shown(name, value), end);
    free(m->before);
    m->before = value;
}

static bool opens_string(const struct masking *m, size_t at)
{
    if (m->plain[at] == '"')
        return true;
    size_t end = skip_back(m, at);
    return m->plain[at] == '\'' && end && strchr("=,[", m->plain[end - 1]);
}

static void mask_strings(struct masking *m)
{
    for (size_t i = 0; i < m->length && !m->failed; i++) {
        size_t end = opens_string(m, i) ? string_end(m, i) : SIZE_MAX;
        if (end == SIZE_MAX)
            continue;
        mask_string(m, i, end);
        i = end;
    }
}

/* ---- comments, and tokens anywhere ---- */

/* A comment's quotes need not match: everything between the first and the last one of a line is
 * hidden, and everything after the name of a secret. */
static void mask_comment(struct masking *m, size_t at, size_t end)
{
    size_t first = end, last = at;
    _autofree_ char *line = malloc(end - at + 1);
    m->failed |= !line;
    for (size_t i = at; line && i < end; i++) {
        bool comment = m->plain[i] != m->text[i] && m->text[i];
        line[i - at] = comment ? m->text[i] : ' ';
        if (comment && strchr("\"'`", m->text[i])) {
            first = first == end ? i : first;
            last = i;
        }
    }
    if (!line)
        return;
    line[end - at] = '\0';
    const char *secret = tc_adopt_named_secret(line);
    for (size_t i = at; i < end; i++)
        if (m->plain[i] != m->text[i] &&
            ((i > first && i < last) || (secret && i >= at + (size_t)(secret - line))))
            m->hide[i] = 1;
}

static void mask_tokens(struct masking *m, size_t at, size_t end)
{
    _autofree_ char *line = strndup(m->text + at, end - at);
    const char *token;
    size_t count = 0;
    m->failed |= !line;
    for (size_t i = at; line && i < end && line[i - at]; i++)
        line[i - at] = m->hide[i] ? ' ' : line[i - at];
    while (line && (token = tc_credential_token(line)) && count++ < TOKENS_MAX) {
        size_t from = (size_t)(token - line), n = strcspn(token, " \t\r\n\"',;");
        memset(m->hide + at + from, 1, n);
        memset(line + from, ' ', n);
    }
    if (count > TOKENS_MAX)
        memset(m->hide + at, 1, end - at);
}

/* ---- output ---- */

static bool is_near(const struct tc_adopt_range *ranges, size_t count, size_t at)
{
    for (size_t i = 0; i < count; i++)
        if (at + AROUND >= ranges[i].at && at <= ranges[i].end + AROUND)
            return true;
    return false;
}

static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static void put_line(struct tc_buf *out, const struct masking *m, struct tc_adopt_range line,
                     const struct tc_adopt_range *ranges, size_t count)
{
    bool lengthy = line.end - line.at > LINE_MAX_BYTES, gone = false;
    for (size_t i = line.at; i < line.end; i++) {
        if (m->text[i] == '\r' && i + 1 == line.end)
            break; /* of a line end, which no edit changes */
        bool cut = lengthy && i - line.at > AROUND && !is_near(ranges, count, i);
        cut |= gone && is_inside(m->text[i]); /* whole characters */
        if (!cut && !m->hide[i])
            tc_buf_addc(out, m->text[i]);
        else if (!gone)
            tc_buf_adds(out, hidden_text);
        gone = cut || m->hide[i];
    }
}

static void blank_toml(char *text, size_t length)
{
    char quote = '\0';
    bool comment = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n') {
            quote = '\0';
            comment = false;
        } else if (comment || (!quote && text[i] == '#')) {
            comment = true;
            text[i] = ' ';
        } else if (quote == '"' && text[i] == '\\' && i + 1 < length && text[i + 1] != '\n') {
            i++;
        } else if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'') {
            quote = quote ? '\0' : text[i];
        }
    }
}

/* The text with blanks for comments; owned. */
static char *blank_comments(enum tc_adopt_format format, const char *text, size_t length)
{
    char *plain = malloc(length + 1);
    if (!plain)
        return NULL;
    memcpy(plain, text, length);
    plain[length] = '\0';
    if (format == TC_ADOPT_JSON)
        (void)tc_jsonc_blank(plain, length, SIZE_MAX, TC_JSONC_COMMENTS);
    else
        blank_toml(plain, length);
    return plain;
}

char *tc_adopt_mask(enum tc_adopt_format format, const char *text, size_t length,
                    const struct tc_adopt_range *ranges, size_t count)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct masking m = {.text = text, .length = length, .hide = calloc(length + 1, 1)};
    _autofree_ char *plain = blank_comments(format, text, length);
    m.plain = plain;
    m.failed = !m.hide || !plain;
    if (!m.failed)
        mask_strings(&m);
    for (size_t at = 0; at < length && !m.failed;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length;
        mask_comment(&m, at, end);
        mask_tokens(&m, at, end);
        put_line(&out, &m, (struct tc_adopt_range){at, end}, ranges, count);
        if (newline)
            tc_buf_addc(&out, '\n');
        at = end + 1;
    }
    free(m.hide);
    free(m.before);
    return m.failed ? NULL : tc_buf_steal(&out);
}
