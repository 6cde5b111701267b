/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Edits one text file: replaces a piece, inserts lines, or applies a unified diff. Nothing is
 * written unless the whole edit can be applied. */
#include "tool.h"

static struct text result;
static size_t changed; /* number of lines, for the reply */

/* ---- replace ---- */

static const char *find(const char *from, const char *end, const struct text *what)
{
    return memmem(from, (size_t)(end - from), what->at, what->len);
}

static void replace(const struct text *file, const struct text *old, const struct text *new)
{
    const char *at = file->at, *end = file->at + file->len;
    if (!old || !new || !old->len)
        fail("replace needs `old`, a piece of the file, and `new`");
    const char *hit = find(at, end, old);
    if (!hit)
        fail("`old` does not occur in the file: read the file again, and copy the piece with its "
             "white space");
    if (!argument_true("all") && find(hit + 1, end, old))
        fail("`old` occurs more than once: include more of the text around it, or set \"all\": "
             "true");
    for (; hit; hit = argument_true("all") ? find(at, end, old) : NULL, changed++) {
        append(&result, at, (size_t)(hit - at));
        append(&result, new->at, new->len);
        at = hit + old->len;
    }
    append(&result, at, (size_t)(end - at));
}

/* ---- insert ---- */

static void append_line(const struct text *line)
{
    if (result.len && result.at[result.len - 1] != '\n')
        append(&result, "\n", 1);
    append(&result, line->at, line->len);
}

static void insert(const struct text *file, const struct text *text)
{
    struct lines lines = split(file);
    long after = argument_number("line", -1);
    if (!text || after < 0)
        fail("insert needs `text` and `line`, the line to insert after: 0 is the beginning");
    if ((size_t)after > lines.count)
        fail("the file has %zu lines, not %ld", lines.count, after);
    for (size_t i = 0; i < (size_t)after; i++)
        append_line(&lines.items[i]);
    append_line(text);
    for (size_t i = (size_t)after; i < lines.count; i++)
        append_line(&lines.items[i]);
    changed = split(text).count;
}

/* ---- patch ---- */

struct hunk {
    struct lines body; /* lines of the hunk, with their first column */
    size_t line;       /* lines before the hunk, from its header */
};

static bool starts(const struct text *line, const char *with)
{
    size_t n = strlen(with);
    return line->len >= n && memcmp(line->at, with, n) == 0;
}

/* The line without its first column; editors strip the column of an empty line. */
static struct text rest(const struct text *line)
{
    return line->at[0] == '\n' ? *line : (struct text){line->at + 1, line->len - 1};
}

/* The added line, without a line feed if "\ No newline" follows. */
static struct text added(const struct hunk *hunk, size_t i)
{
    struct text words = rest(&hunk->body.items[i]);
    bool open = i + 1 < hunk->body.count && hunk->body.items[i + 1].at[0] == '\\';
    words.len -= open && words.len && words.at[words.len - 1] == '\n';
    return words;
}

static bool same(const struct text *a, const struct text *b)
{
    size_t n = a->len - (a->len && a->at[a->len - 1] == '\n');
    size_t m = b->len - (b->len && b->at[b->len - 1] == '\n');
    return n == m && memcmp(a->at, b->at, n) == 0;
}

static bool is_old(const struct text *line)
{
    return line->at[0] == ' ' || line->at[0] == '-' || line->at[0] == '\n';
}

static size_t count_old(const struct hunk *hunk)
{
    size_t n = 0;
    for (size_t i = 0; i < hunk->body.count; i++)
        n += is_old(&hunk->body.items[i]);
    return n;
}

static bool fits(const struct lines *file, const struct hunk *hunk, size_t at)
{
    if (at > file->count)
        return false;
    for (size_t i = 0; i < hunk->body.count; i++) {
        struct text wanted = rest(&hunk->body.items[i]);
        if (!is_old(&hunk->body.items[i]))
            continue;
        if (at >= file->count || !same(&file->items[at++], &wanted))
            return false;
    }
    return true;
}

/* The stated line plus the previous hunk's offset, if the hunk fits there; otherwise the only line
 * after the previous hunk where it fits. */
static size_t place(const struct lines *file, const struct hunk *hunk, size_t from, size_t number)
{
    static size_t off; /* may wrap below zero */
    size_t found = SIZE_MAX, count = 0, old = count_old(hunk), said = hunk->line + off;
    if (said >= from && fits(file, hunk, said))
        return said;
    for (size_t at = from; old && at + old <= file->count; at++)
        if (fits(file, hunk, at)) {
            found = at;
            count++;
        }
    if (count != 1)
        fail("hunk %zu fits %s: read the file again, and make a diff with more context", number,
             count ? "in more than one place" : "nowhere");
    off = found - hunk->line;
    return found;
}

static size_t apply(const struct lines *file, const struct hunk *hunk, size_t from, size_t number)
{
    size_t at = place(file, hunk, from, number);
    for (size_t i = from; i < at; i++)
        append_line(&file->items[i]);
    for (size_t i = 0; i < hunk->body.count; i++) {
        const struct text *line = &hunk->body.items[i];
        struct text words = added(hunk, i);
        changed += line->at[0] == '+' || line->at[0] == '-';
        if (line->at[0] == '+')
            append_line(&words);
        else if (is_old(line) && line->at[0] != '-')
            append_line(&file->items[at]);
        at += is_old(line);
    }
    return at;
}

/* Reads the hunk's lines from `at` on; returns their end. */
static size_t read_hunk(const struct lines *diff, size_t at, struct hunk *ret)
{
    unsigned long line = strtoul(diff->items[at].at + strlen("@@ -"), NULL, 10);
    size_t end = ++at;
    while (end < diff->count && strchr(" +-\\\n", diff->items[end].at[0]) &&
           !(starts(&diff->items[end], "--- ") && end + 1 < diff->count &&
             starts(&diff->items[end + 1], "+++ ")))
        end++;
    *ret = (struct hunk){{diff->items + at, end - at}, line};
    if (ret->body.count && ret->body.items[ret->body.count - 1].at[0] == '\n')
        ret->body.count--; /* a trailing empty line of the argument */
    ret->line -= line && count_old(ret);
    return end;
}

static void patch(const struct text *file, const struct text *text)
{
    if (!text)
        fail("patch needs `diff`, a unified diff of this file");
    struct lines lines = split(file), diff = split(text);
    size_t from = 0, number = 0, heads = 0;
    for (size_t i = 0; i < diff.count;) {
        struct hunk hunk;
        heads += starts(&diff.items[i], "+++ ");
        if (heads > 1)
            fail("the diff changes more than one file: apply each separately");
        if (!starts(&diff.items[i], "@@ -")) {
            i++;
            continue;
        }
        i = read_hunk(&diff, i, &hunk);
        from = apply(&lines, &hunk, from, ++number);
    }
    if (!number)
        fail("the diff has no hunk: each begins with a line like @@ -1,3 +1,4 @@");
    for (size_t i = from; i < lines.count; i++)
        append_line(&lines.items[i]);
}

int main(void)
{
    read_arguments();
    const char *path = argument_text("path", NULL), *action = argument_text("action", NULL);
    struct text file = read_file(path);
    append(&result, "", 0);
    if (strcmp(action, "replace") == 0)
        replace(&file, argument("old"), argument("new"));
    else if (strcmp(action, "insert") == 0)
        insert(&file, argument("text"));
    else if (strcmp(action, "patch") == 0)
        patch(&file, argument("diff"));
    else
        fail("action must be replace, insert or patch");
    write_file(path, &result);
    printf("%s: %s, %zu %s\n", path, action, changed,
           strcmp(action, "replace") == 0 ? "places" : "lines");
    return 0;
}
