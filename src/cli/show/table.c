/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/table.h"

#include <inttypes.h>
#include <string.h>

#include "cli/show/clean.h"
#include "cli/show/fold.h"
#include "text/shell.h"
#include "text/utf8.h"

enum { COLUMNS = 24, NAME_WIDTH = 13, LINE_WIDTH = 98 };

struct columns {
    char *names[COLUMNS];
    int widths[COLUMNS];
    size_t count;
    bool over; /* there are more: rows are printed as JSON */
};

static bool is_container(struct tc_slice value)
{
    return value.at && (*value.at == '{' || *value.at == '[');
}

static bool is_empty(struct tc_slice value)
{
    struct tc_scan_each each = tc_scan_walk(value);
    return !tc_scan_next(&each);
}

static int width(const char *text)
{
    return (int)tc_utf8_count(text, strlen(text));
}

/* An item of a list, quoted if its end would not be seen; owned. NULL: out of memory. */
static char *item_of(struct tc_slice value)
{
    _autofree_ char *text = tc_json_line(value);
    if (!text)
        return strndup(value.at, value.length);
    return *text && !strpbrk(text, " '\"") ? strdup(text) : tc_shell_quote(text);
}

/* The items of a list, with blanks between them; owned. NULL: out of memory. */
static char *joined(struct tc_slice list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    struct tc_scan_each each = tc_scan_walk(list);
    for (const char *comma = ""; tc_scan_next(&each); comma = " ") {
        _autofree_ char *item = item_of(each.value);
        (void)fprintf(out, "%s%s", comma, item ? item : "?");
    }
    return tc_cli_text(out, &text);
}

/* The cell of a string. A key is followed by its line (and its file, if it is in another one).
 * `from`, `by` and `over` start with their name; a `from` that equals the row's path is blank. */
static char *string_cell(struct tc_slice row, const char *name, struct tc_slice value)
{
    _autofree_ char *text = tc_json_line(value);
    _autofree_ char *path = tc_json_line(tc_json_get(row, "path"));
    _autofree_ char *file = tc_json_line(tc_json_get(row, "file"));
    int64_t line = tc_json_int(tc_json_get(row, "line"), 0);
    bool named = !strcmp(name, "from") || !strcmp(name, "by") || !strcmp(name, "over");
    if (!text)
        return NULL;
    if (!strcmp(name, "from") && path && !strcmp(text, path))
        return strdup("");
    if (named)
        return tc_cli_format("%s %s", name, text);
    if (!strcmp(name, "key") && line > 0)
        return tc_cli_format("%s, line %" PRId64 "%s%s", text, line, file ? " of " : "",
                             file ? file : "");
    return strdup(text);
}

/* The text of a cell; owned. True is the column's name. An absent member, null and false are blank,
 * but "unset" in the column `value`. NULL: out of memory. */
static char *cell(struct tc_slice row, const char *name)
{
    struct tc_slice value = tc_json_get(row, name);
    if (!value.at || *value.at == 'n' || *value.at == 'f')
        return strdup(strcmp(name, "value") ? "" : "unset");
    if (*value.at == 't')
        return tc_clean(TC_CLEAN_LINE, name, strlen(name), NULL);
    if (is_container(value))
        return joined(value);
    if (*value.at != '"')
        return strndup(value.at, value.length);
    return string_cell(row, name, value);
}

/* Adds a column behind the others, `access` before them. Takes ownership of the name. Returns the
 * column's index. */
static size_t add_column(struct columns *columns, char *name)
{
    size_t at = strcmp(name, "access") ? columns->count : 0;
    for (size_t i = columns->count; i > at; i--) {
        columns->names[i] = columns->names[i - 1];
        columns->widths[i] = columns->widths[i - 1];
    }
    columns->names[at] = name;
    columns->widths[at] = 0;
    columns->count++;
    return at;
}

/* Adds the columns that only this row has, and widens columns to fit the row. False: out of memory.
 */
static bool note_row(struct columns *columns, struct tc_slice row)
{
    for (struct tc_scan_each each = tc_scan_walk(row); tc_scan_next(&each);) {
        _autofree_ char *name = tc_json_text(each.key);
        if (!name)
            return false;
        size_t i = 0;
        while (i < columns->count && strcmp(columns->names[i], name) != 0)
            i++;
        columns->over |= i == COLUMNS;
        if (i == COLUMNS || !strcmp(name, "line") || !strcmp(name, "file"))
            continue;
        _autofree_ char *text = cell(row, name);
        if (!text)
            return false;
        if (i == columns->count) {
            i = add_column(columns, name);
            name = NULL;
        }
        if (width(text) > columns->widths[i])
            columns->widths[i] = width(text);
    }
    return true;
}

static bool put_row(FILE *out, const struct columns *columns, struct tc_slice row,
                    const char *label, int label_width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);
    if (!line)
        return false;
    if (label)
        (void)fprintf(line, "  %s%*s", label, label_width - width(label), "");
    bool whole = true;
    if (columns->over)
        (void)fprintf(line, "  %.*s", (int)row.length, row.at);
    for (size_t i = 0; whole && !columns->over && i < columns->count; i++) {
        _autofree_ char *content = cell(row, columns->names[i]);
        whole = content;
        if (content && columns->widths[i])
            (void)fprintf(line, "  %s%*s", content, columns->widths[i] - width(content), "");
    }
    whole = !fclose(line) && whole;
    while (size && text[size - 1] == ' ')
        size--;
    (void)fprintf(out, "%.*s\n", (int)size, text);
    free(text);
    return whole;
}

static void columns_done(struct columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        free(columns->names[i]);
}

/* Writes a list of objects as rows, or an object of objects as rows that start with their names. */
static bool put_rows(FILE *out, struct tc_slice rows)
{
    __attribute__((cleanup(columns_done))) struct columns columns = {0};
    int labels = 0;
    struct tc_scan_each each = tc_scan_walk(rows);
    while (tc_scan_next(&each)) {
        _autofree_ char *label = tc_json_line(each.key);
        if (!note_row(&columns, each.value))
            return false;
        if (label && width(label) > labels)
            labels = width(label);
    }
    each = tc_scan_walk(rows);
    while (tc_scan_next(&each)) {
        _autofree_ char *label = tc_json_line(each.key);
        if (!put_row(out, &columns, each.value, label, labels))
            return false;
    }
    return true;
}

/* Writes words next to their name, broken to the line width. */
static bool put_words(FILE *out, const char *name, struct tc_slice words)
{
    int column = NAME_WIDTH, most = tc_fold_most(LINE_WIDTH);
    (void)fprintf(out, "%-*s ", NAME_WIDTH - 1, name);
    struct tc_scan_each each = tc_scan_walk(words);
    for (bool first = true; tc_scan_next(&each); first = false) {
        _autofree_ char *word = item_of(each.value);
        if (!word)
            return false;
        if (!first && column + 1 + width(word) > most) {
            (void)fprintf(out, "\n%*s", NAME_WIDTH, "");
            column = NAME_WIDTH;
        } else if (!first) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fputs(word, out);
        column += width(word);
    }
    (void)fputc('\n', out);
    return true;
}

/* Is the value shown as a block of rows below its name? */
static bool is_block(struct tc_slice value)
{
    struct tc_scan_each each = tc_scan_walk(value);
    if (!is_container(value) || !tc_scan_next(&each))
        return false;
    return *value.at == '{' || is_container(each.value);
}

static bool put_block(FILE *out, const char *name, struct tc_slice value)
{
    struct tc_scan_each each = tc_scan_walk(value);
    (void)tc_scan_next(&each);
    (void)fprintf(out, "\n%s\n", name);
    bool lists = *value.at == '{' && *each.value.at == '[' && !is_empty(each.value);
    return is_container(each.value) && !lists ? put_rows(out, value)
                                              : tc_table_object(out, value, NULL);
}

static bool put_member(FILE *out, struct tc_slice object, const char *name, struct tc_slice value)
{
    _autofree_ char *shown = tc_clean(TC_CLEAN_LINE, name, strlen(name), NULL);
    if (!shown)
        return false;
    if (is_block(value))
        return put_block(out, shown, value);
    if (is_container(value) && is_empty(value))
        return fprintf(out, "%-*s none\n", NAME_WIDTH - 1, shown) > 0;
    if (is_container(value))
        return put_words(out, shown, value);
    _autofree_ char *text = cell(object, name);
    if (text && *text)
        (void)fprintf(out, "%-*s %s\n", NAME_WIDTH - 1, shown, text);
    return text;
}

static bool skipped(const char *name, const char *const skip[])
{
    for (size_t i = 0; skip && skip[i]; i++)
        if (!strcmp(name, skip[i]))
            return true;
    return false;
}

bool tc_table_object(FILE *out, struct tc_slice object, const char *const skip[])
{
    struct tc_scan_each each = tc_scan_walk(object);
    bool after_block = false;
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_text(each.key);
        if (!name)
            return false;
        if (skipped(name, skip))
            continue;
        if (after_block && !is_block(each.value))
            (void)fputc('\n', out);
        after_block = is_block(each.value);
        if (!put_member(out, object, name, each.value))
            return false;
    }
    return true;
}

void tc_table_size(char *to, size_t size, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    while (i + 1 < TC_COUNT(units) && bytes >= 1024) {
        bytes = (bytes + 1023) / 1024;
        i++;
    }
    (void)snprintf(to, size, "%" PRId64 " %s", bytes, units[i]);
}
