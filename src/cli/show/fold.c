/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/fold.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli/cli.h"
#include "text/utf8.h"

enum { GUTTER = 8 }; /* width of "   12 | " before a quoted line, the same as a tab */

size_t tc_fold_width(int fd)
{
    enum { LEAST = 40, OTHERWISE = 80 };
    struct winsize size;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
        return OTHERWISE;
    return size.ws_col < LEAST ? LEAST : size.ws_col;
}

int tc_fold_most(int most)
{
    size_t width = tc_fold_width(STDOUT_FILENO);
    return width && width < (size_t)most ? (int)width : most;
}

struct fold {
    FILE *out;
    size_t width, column;
    bool joins; /* the next word continues a line that ended in the text */
};

/* Words are not broken, so that paths can be copied. */
static void put_words(struct fold *f, const char *at, const char *end, size_t indent)
{
    while (at < end) {
        size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " \n");
        size_t gap = f->joins ? 1 : blanks, word = tc_utf8_count(at + blanks, length);
        f->joins = false;
        if (f->column > indent && f->column + gap + word > f->width) {
            (void)fputc('\n', f->out);
            f->column = 0;
            gap = indent;
        }
        (void)fprintf(f->out, "%*s%.*s", (int)gap, "", (int)length, at + blanks);
        f->column += gap + word;
        at += blanks + length;
    }
}

static void put_line(struct fold *f, const char *line, const char *end, bool whole, size_t indent)
{
    size_t length = (size_t)(end - line);
    if (whole || tc_utf8_count(line, length) <= f->width)
        (void)fwrite(line, 1, length, f->out);
    else
        put_words(f, line, end, indent);
}

/* Ends the line as in the text; returns the start of the next one. */
static const char *end_line(struct fold *f, const char *end)
{
    f->column = 0;
    if (*end)
        (void)fputc(*end++, f->out);
    return end;
}

/* The column after the first gap, where a description or a row's second column starts; 0: none. */
static size_t behind_gap(const char *line, const char *end)
{
    for (const char *at = line + strspn(line, " "); at + 1 < end; at++)
        if (at[0] == ' ' && at[1] == ' ')
            return tc_utf8_count(line, (size_t)(at - line)) + strspn(at, " ");
    return 0;
}

/* Folds text line by line; `put` writes the line at `line` and returns the start of the next one;
 * NULL: out of memory. */
static char *fold(const char *text, size_t width,
                  const char *(*put)(struct fold *f, const char *line))
{
    char *folded = NULL;
    size_t size = 0;
    struct fold f = {.out = open_memstream(&folded, &size), .width = width};
    if (!f.out)
        return NULL;
    while (text && *text)
        text = put(&f, text);
    if (!fclose(f.out) && text)
        return folded;
    free(folded);
    return NULL;
}

/* ---- help ---- */

static bool is_prose(const char *line)
{
    return *line && *line != '\n' && *line != ' ';
}

/* Was the line broken because of its length, so that the paragraph continues? */
static bool runs_on(const char *line, const char *end)
{
    enum { FULL = 70 };
    return is_prose(line) && *end && is_prose(end + 1) &&
           tc_utf8_count(line, (size_t)(end - line)) >= FULL;
}

/* Commands are not broken, so that they can be copied. */
static bool is_command(const char *line)
{
    return strncmp(line, "  toolcage", 10) == 0 || strncmp(line, "    ", 4) == 0;
}

/* The column of the description: after the last gap; 0: none. */
static size_t behind_gaps(const char *line, const char *end)
{
    size_t column = 0, more;
    while ((more = behind_gap(line + column, end)))
        column += more;
    return column;
}

static const char *put_help(struct fold *f, const char *line)
{
    const char *end = strchrnul(line, '\n');
    size_t start = strspn(line, " "), gap = start ? behind_gaps(line, end) : 0;
    f->joins = f->column; /* the paragraph continues */
    if (f->joins || runs_on(line, end))
        put_words(f, line, end, 0);
    else
        put_line(f, line, end, is_command(line) && !gap, gap + 20 > f->width || !gap ? start : gap);
    return runs_on(line, end) ? end + 1 : end_line(f, end);
}

char *tc_fold(const char *text, size_t width)
{
    return fold(text, width, put_help);
}

/* ---- rows ---- */

static const char *put_row(struct fold *f, const char *line)
{
    const char *end = strchrnul(line, '\n');
    size_t gap = behind_gap(line, end);
    put_line(f, line, end, false, gap && gap <= f->width / 2 ? gap : strspn(line, " ") + 4);
    return end_line(f, end);
}

char *tc_fold_rows(const char *text, size_t width)
{
    return fold(text, width, put_row);
}

/* ---- findings ---- */

/* A quoted line of the file, or the marks below it. */
static bool is_quoted(const char *line)
{
    size_t at = strspn(line, " "), digits = strspn(line + at, "0123456789");
    return digits ? at + digits >= 5 && !strncmp(line + at + digits, " | ", 3)
                  : !strncmp(line, "      | ", GUTTER);
}

/* The text after the gutter, with tabs expanded. */
static char *expand(const char *text)
{
    char *blank = NULL;
    size_t size = 0, column = 0;
    FILE *out = open_memstream(&blank, &size);
    if (!out)
        return NULL;
    for (; *text && *text != '\n'; text++) {
        size_t gap = *text == '\t' ? 8 - column % 8 : 0;
        (void)fprintf(out, "%*s%.*s", (int)gap, "", !gap, text);
        column += gap ? gap : !tc_utf8_inside(*text);
    }
    return tc_cli_text(out, &blank);
}

/* Writes the marks below `count` columns of the quoted line, if there are any. */
static void put_marks(FILE *out, const char *marks, size_t count)
{
    size_t here = strnlen(marks, count);
    while (here && marks[here - 1] == ' ')
        here--;
    if (here)
        (void)fprintf(out, "%*s%.*s\n", GUTTER, "| ", (int)here, marks);
}

/* The length of a piece that fits; it ends after a blank if one is near. */
static size_t piece_of(const char *text, size_t room)
{
    size_t most = 0;
    while (text[most] && (tc_utf8_inside(text[most]) || room--))
        most++;
    for (size_t i = most; text[most] && i > most / 2; i--)
        if (text[i - 1] == ' ')
            return i;
    return most;
}

static const char *next_line(const char *line)
{
    const char *end = strchrnul(line, '\n');
    return end + (*end != '\0');
}

/* Writes the quoted line in pieces, each with its part of the marks below. */
static const char *put_quoted(struct fold *f, const char *line)
{
    const char *next = next_line(line), *quoted = strchr(line, '|') + 2;
    bool marked = strncmp(next, "      | ", GUTTER) == 0;
    _autofree_ char *text = expand(quoted), *marks = expand(marked ? next + GUTTER : "");
    if (!text || !marks)
        return NULL;
    const char *at = text, *below = marks;
    (void)fwrite(line, 1, (size_t)(quoted - line), f->out);
    do {
        size_t piece = piece_of(at, f->width - GUTTER), wide = tc_utf8_count(at, piece);
        if (at > text)
            (void)fprintf(f->out, "%*s", GUTTER, "| ");
        (void)fprintf(f->out, "%.*s\n", (int)piece, at);
        at += piece;
        put_marks(f->out, below, *at ? wide : strlen(below));
        below += strnlen(below, wide);
    } while (*at);
    return marked ? next_line(next) : next;
}

/* Writes a finding's first line, its hint or its quote. */
static const char *put_finding(struct fold *f, const char *line)
{
    const char *end = strchrnul(line, '\n');
    if (is_quoted(line))
        return put_quoted(f, line);
    put_line(f, line, end, false, strncmp(line, "hint: ", 6) == 0 ? 6 : 4);
    return end_line(f, end);
}

char *tc_fold_findings(const char *text, size_t width)
{
    return fold(text, width, put_finding);
}
