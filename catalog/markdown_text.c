/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Converts Markdown to plain text: removes markup, keeps text, code and link targets. */
#include "tool.h"

static struct text out;

static void put(const char *bytes, size_t length)
{
    append(&out, bytes, length);
}

/* The bracket that closes the one at `at`; NULL: none in this line. */
static const char *closing(const char *at, const char *end, char open, char close)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == open)
            depth++;
        else if (*at == close && --depth == 0)
            return at;
    }
    return NULL;
}

static void inline_text(const char *at, const char *end);

/* Prints "[text](target)" or "![text](target)"; returns its end, or NULL: not a link. */
static const char *link_text(const char *at, const char *end)
{
    bool image = *at == '!';
    const char *open = at + image, *close = closing(open, end, '[', ']');
    if (!close || close + 1 >= end || close[1] != '(')
        return NULL;
    const char *target = close + 2, *last = closing(close + 1, end, '(', ')');
    if (!last)
        return NULL;
    size_t n = strcspn(target, " )");
    inline_text(open + 1, close);
    bool same = (size_t)(close - open - 1) == n && memcmp(open + 1, target, n) == 0;
    if (n && !image && !same && target + n <= last) {
        put(" (", 2);
        put(target, n);
        put(")", 1);
    }
    return last + 1;
}

/* Code ends with as many backticks as it began with. */
static const char *code_text(const char *at, const char *end)
{
    size_t n = strspn(at, "`");
    for (const char *to = at + n; to < end; to += *to == '`' ? strspn(to, "`") : 1)
        if (*to == '`' && strspn(to, "`") == n) {
            put(at + n, (size_t)(to - at) - n);
            return to + n;
        }
    return NULL;
}

/* "<https://…>" is printed without its brackets, a tag is dropped. */
static const char *angle(const char *at, const char *end)
{
    const char *close = memchr(at, '>', (size_t)(end - at));
    if (!close || close == at + 1 || at[1] == ' ')
        return NULL;
    size_t n = (size_t)(close - at) - 1;
    if (memchr(at + 1, ':', n) || memchr(at + 1, '@', n))
        put(at + 1, n);
    return close + 1;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* Is it emphasis, not a sign between spaces or inside a word? */
static bool is_mark(const char *begin, const char *at, const char *end)
{
    char before = at > begin ? at[-1] : ' ', after = at + 1 < end ? at[1] : ' ';
    if (*at == '~')
        return after == '~' || before == '~';
    if (*at != '*' && *at != '_')
        return false;
    return *at == '*' ? before != ' ' || after != ' ' : !(is_word(before) && is_word(after));
}

static void inline_text(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end) {
        const char *next = NULL;
        if (*at == '\\' && at + 1 < end && strchr("\\`*_{}[]()#+-.!|<>~", at[1])) {
            put(at + 1, 1);
            next = at + 2;
        } else if (*at == '`') {
            next = code_text(at, end);
        } else if (*at == '[' || (*at == '!' && at + 1 < end && at[1] == '[')) {
            next = link_text(at, end);
        } else if (*at == '<') {
            next = angle(at, end);
        } else if (is_mark(begin, at, end)) {
            next = at + 1;
        }
        if (!next)
            put(at, 1);
        at = next ? next : at + 1;
    }
}

/* A line of marks only: a heading's underline, or a thematic break. */
static bool is_rule(const char *at, const char *end)
{
    size_t n = strspn(at, "-=*_ "), signs = 0;
    for (size_t i = 0; i < n; i++)
        signs += at[i] != ' ' && at[i] == at[0];
    return at + n >= end && signs >= 3;
}

static void table_row(const char *at, const char *end)
{
    bool first = true;
    if (at + strspn(at, "|-: ") >= end)
        return; /* the line between a table's head and rows */
    for (at += *at == '|'; at < end;) {
        const char *to = at;
        while (to < end && (*to != '|' || to[-1] == '\\'))
            to++;
        const char *from = at + strspn(at, " "), *last = to;
        while (last > from && last[-1] == ' ')
            last--;
        put("\t", !first);
        inline_text(from, last);
        first = false;
        at = to + 1;
    }
    put("\n", 1);
}

static void block_line(const char *at, const char *end)
{
    size_t blanks = strspn(at, " \t");
    const char *words = at + blanks;
    while (words < end && *words == '>')
        words += 1 + (words[1] == ' ');
    size_t marks = strspn(words, "#");
    if (marks && marks < 7 && (words[marks] == ' ' || words + marks == end)) {
        words += marks + strspn(words + marks, " ");
        while (end > words && (end[-1] == '#' || end[-1] == ' '))
            end--;
    } else if (is_rule(words, end)) {
        return;
    } else if (*words == '|') {
        table_row(words, end);
        return;
    }
    if (words == at + blanks)
        put(at, blanks);
    if (end - words > 1 && strchr("*+-", *words) && words[1] == ' ') {
        put("- ", 2);
        words += 2;
    }
    inline_text(words, end);
    put("\n", 1);
}

static bool is_fence(const struct text *line)
{
    size_t blanks = strspn(line->at, " ");
    return strncmp(line->at + blanks, "```", 3) == 0 || strncmp(line->at + blanks, "~~~", 3) == 0;
}

int main(void)
{
    read_arguments();
    struct text file = read_file(argument_text("path", NULL));
    struct lines lines = split(&file);
    bool code = false;
    append(&out, "", 0);
    for (size_t i = 0; i < lines.count; i++) {
        const struct text *line = &lines.items[i];
        const char *end = line->at + line->len;
        if (is_fence(line)) {
            code = !code;
            continue;
        }
        if (code) {
            put(line->at, line->len);
            continue;
        }
        while (end > line->at && strchr("\r\n", end[-1]))
            end--;
        block_line(line->at, end);
    }
    return fwrite(out.at, 1, out.len, stdout) == out.len ? 0 : 1;
}
