/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/fold.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* Columns, where each character has one. */
static size_t columns(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Where the description of an option or a verb begins: behind the first gap. Without one, where the
 * line itself does. */
static size_t hanging(const char *line, size_t length)
{
    size_t start = strspn(line, " ");
    for (size_t i = start; start && i + 1 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ')
            return columns(line, i + strspn(line + i, " "));
    return start;
}

struct fold {
    FILE *out;
    size_t width, column;
    bool joins; /* the next word goes on in a line that has ended in the text */
};

static void put_words(struct fold *f, const char *at, const char *end, size_t indent)
{
    while (at < end) {
        size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " \n");
        size_t gap = f->joins ? 1 : blanks, word = columns(at + blanks, length);
        f->joins = false;
        if (f->column > indent && f->column + gap + word > f->width) {
            (void)fprintf(f->out, "\n%*s", (int)indent, "");
            f->column = indent;
            gap = 0;
        }
        (void)fprintf(f->out, "%*s%.*s", (int)gap, "", (int)length, at + blanks);
        f->column += gap + word;
        at += blanks + length;
    }
}

static bool is_prose(const char *line)
{
    return *line && *line != '\n' && *line != ' ';
}

/* Was a line of a paragraph broken for its length, and not because something else begins? */
static bool runs_on(const char *line, const char *end, const char *next)
{
    enum { FULL = 70 };
    return is_prose(line) && is_prose(next) && columns(line, (size_t)(end - line)) >= FULL;
}

/* Something to copy is broken by nobody. */
static bool is_command(const char *line)
{
    return strncmp(line, "  toolcage", 10) == 0 || strncmp(line, "    ", 4) == 0;
}

static void put_line(struct fold *f, const char *line, const char *end)
{
    size_t length = (size_t)(end - line), indent = hanging(line, length);
    bool whole =
        columns(line, length) <= f->width || (is_command(line) && strspn(line, " ") == indent);
    if (f->width < indent + 20)
        indent = strspn(line, " ");
    if (whole && !f->column)
        (void)fwrite(line, 1, length, f->out);
    else
        put_words(f, line, end, indent);
}

char *tc_fold(const char *text, size_t width)
{
    char *folded = NULL;
    size_t size = 0;
    struct fold f = {.out = open_memstream(&folded, &size), .width = width};
    if (!f.out)
        return NULL;
    while (*text) {
        const char *end = strchrnul(text, '\n'), *next = *end ? end + 1 : end;
        if (f.column) { /* the paragraph goes on */
            f.joins = true;
            put_words(&f, text, end, 0);
        } else if (runs_on(text, end, next)) {
            put_words(&f, text, end, 0);
        } else {
            put_line(&f, text, end);
        }
        if (!runs_on(text, end, next)) {
            f.column = 0;
            if (*end)
                (void)fputc('\n', f.out);
        }
        text = next;
    }
    if (!fclose(f.out))
        return folded;
    free(folded);
    return NULL;
}
