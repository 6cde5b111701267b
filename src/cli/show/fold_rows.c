/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rows of tables and findings, broken for the terminal that shows them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/show/fold.h"

enum { GUTTER = 8 }; /* "   12 | " before a line of the file, which is as wide as a tab */

/* Columns, where each character has one. */
static size_t columns(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Bytes of the first `count` columns. */
static size_t bytes_of(const char *text, size_t length, size_t count)
{
    size_t i = 0;
    for (; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && !count--)
            break;
    return i;
}

/* Where the second column of a row begins, as long as that leaves room for it. */
static size_t hanging(const char *line, size_t length, size_t width)
{
    size_t start = strspn(line, " "), indent = start + 4;
    for (size_t i = start; i + 1 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ') {
            indent = columns(line, i + strspn(line + i, " "));
            break;
        }
    return indent <= width / 2 ? indent : start + 4;
}

/* No word is broken: a path is there to be copied. */
static void put_words(FILE *out, const char *line, size_t length, size_t indent, size_t width)
{
    const char *at = line, *end = line + length;
    size_t column = 0;
    while (at < end) {
        size_t blanks = strspn(at, " "), word = strcspn(at + blanks, " \n");
        size_t wide = columns(at + blanks, word);
        bool breaks = column > indent && column + blanks + wide > width;
        size_t gap = breaks ? indent : blanks;
        (void)fprintf(out, "%s%*s%.*s", breaks ? "\n" : "", (int)gap, "", (int)word, at + blanks);
        column = (breaks ? 0 : column) + gap + wide;
        at += blanks + word;
    }
}

static void put_row(FILE *out, const char *line, size_t length, size_t indent, size_t width)
{
    if (columns(line, length) <= width)
        (void)fwrite(line, 1, length, out);
    else
        put_words(out, line, length, indent, width);
}

char *tc_fold_rows(const char *text, size_t width)
{
    char *folded = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&folded, &size);
    if (!out)
        return NULL;
    while (*text) {
        size_t length = strcspn(text, "\n");
        put_row(out, text, length, hanging(text, length, width), width);
        text += length;
        if (*text)
            (void)fputc(*text++, out);
    }
    if (!fclose(out))
        return folded;
    free(folded);
    return NULL;
}

/* A line of the file that is quoted, or the marks below it. */
static bool is_quoted(const char *line)
{
    size_t at = strspn(line, " ");
    size_t digits = strspn(line + at, "0123456789");
    return at + digits >= 5 &&
           strncmp(line + at + digits, digits ? " | " : "| ", digits ? 3 : 2) == 0 &&
           (digits || at == 6);
}

/* What is behind the gutter, with blanks for tabs. */
static char *expand(const char *text, size_t length)
{
    char *blank = NULL;
    size_t size = 0, column = 0;
    FILE *out = open_memstream(&blank, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        size_t gap = text[i] == '\t' ? 8 - column % 8 : 0;
        if (gap)
            (void)fprintf(out, "%*s", (int)gap, "");
        else
            (void)fputc(text[i], out);
        column += gap ? gap : ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    if (!fclose(out))
        return blank;
    free(blank);
    return NULL;
}

/* The marks below these columns of a line of the file; nothing where there are none. */
static void put_marks(FILE *out, const char *marks, size_t from, size_t count)
{
    size_t length = strlen(marks);
    const char *at = from < length ? marks + from : "";
    size_t here = strlen(at) < count ? strlen(at) : count;
    while (here && at[here - 1] == ' ')
        here--;
    if (here)
        (void)fprintf(out, "%*s%.*s\n", GUTTER, "| ", (int)here, at);
}

/* A piece ends behind a blank where one is near. */
static size_t piece_of(const char *text, size_t room)
{
    size_t length = strlen(text), most = bytes_of(text, length, room);
    if (most == length)
        return length;
    for (size_t i = most; i > most / 2; i--)
        if (text[i - 1] == ' ')
            return i;
    return most;
}

/* The line of the file in pieces, each with its part of the marks below itself. */
static bool put_quoted(FILE *out, const char *line, size_t length, const char *below, size_t width)
{
    size_t gutter = strcspn(line, "|") + 2, room = width - GUTTER, column = 0;
    _autofree_ char *text = expand(line + gutter, length - gutter);
    _autofree_ char *marks =
        below ? expand(below + GUTTER, strcspn(below, "\n") - GUTTER) : strdup("");
    if (!text || !marks)
        return false;
    const char *at = text;
    do {
        size_t piece = piece_of(at, room), wide = columns(at, piece);
        bool last = !at[piece];
        if (at == text)
            (void)fwrite(line, 1, gutter, out);
        else
            (void)fprintf(out, "%*s", GUTTER, "| ");
        (void)fprintf(out, "%.*s\n", (int)piece, at);
        put_marks(out, marks, column, last ? strlen(marks) + 1 : wide);
        column += wide;
        at += piece;
    } while (*at);
    return true;
}

/* The head of a finding, and its hint. */
static size_t indent_of(const char *line)
{
    return strncmp(line, "hint: ", 6) == 0 ? 6 : 4;
}

char *tc_fold_findings(const char *text, size_t width)
{
    char *folded = NULL;
    size_t size = 0;
    bool fine = true;
    FILE *out = open_memstream(&folded, &size);
    if (!out)
        return NULL;
    while (*text && fine) {
        size_t length = strcspn(text, "\n");
        const char *next = text + length + (text[length] == '\n');
        if (is_quoted(text)) {
            const char *below = strncmp(next, "      | ", GUTTER) == 0 ? next : NULL;
            fine = put_quoted(out, text, length, below, width);
            text = below ? below + strcspn(below, "\n") : text + length;
        } else {
            put_row(out, text, length, indent_of(text), width);
            text += length;
            if (*text)
                (void)fputc('\n', out);
        }
        text += *text == '\n';
    }
    if (!fclose(out) && fine)
        return folded;
    free(folded);
    return NULL;
}
