/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/color.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/show/clean.h"

#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define YELLOW "\x1b[33m"
#define CYAN "\x1b[36m"
#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

static enum { AUTO, ALWAYS, NEVER } when;

bool tc_color_set(const char *word)
{
    static const char *const words[] = {"auto", "always", "never"};
    for (unsigned i = 0; i < TC_COUNT(words); i++)
        if (!strcmp(word, words[i])) {
            when = i;
            return true;
        }
    return false;
}

bool tc_color_on(int fd)
{
    const char *no = getenv("NO_COLOR");
    if (when != AUTO)
        return when == ALWAYS;
    return (!no || !*no) && tc_cli_draws(fd);
}

/* The coloured piece of a line; the rest is plain. */
struct piece {
    size_t from, length;
    const char *color;
};

/* The remaining lines of the hunk on each side: a changed line may look like a file name line. */
struct hunk {
    unsigned long before, after;
};

/* Parses "@@ -1,2 +3,4 @@"; a missing count is 1. */
static bool begins(const char *line, struct hunk *ret)
{
    char *end;
    if (strncmp(line, "@@ -", 4) != 0)
        return false;
    (void)strtoul(line + 4, &end, 10);
    ret->before = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    if (strncmp(end, " +", 2) != 0)
        return false;
    (void)strtoul(end + 2, &end, 10);
    ret->after = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    return true;
}

static struct piece diff_piece(const char *line, size_t length, struct hunk *hunk)
{
    bool inside = hunk->before || hunk->after, added = *line == '+', removed = *line == '-';
    if (!inside && begins(line, hunk))
        return (struct piece){0, length, CYAN};
    if (!inside)
        return (struct piece){0, length, added || removed ? BOLD : NULL};
    if (*line != '\\') { /* else "\ No newline at end of file" */
        hunk->before -= !added && hunk->before;
        hunk->after -= !removed && hunk->after;
    }
    return (struct piece){0, length, added ? GREEN : removed ? RED : NULL};
}

/* For lists: the sign of each line. */
static struct piece sign_piece(const char *line, size_t length, struct hunk *hunk)
{
    size_t from = strspn(line, " ");
    char sign = line[from];
    return (struct piece){from, length - from, sign == '+' ? GREEN : sign == '-' ? RED : NULL};
}

/* TAP has "not ok", a table "no". */
static struct piece state_piece(const char *line, size_t length, struct hunk *hunk)
{
    static const struct piece states[] = {{0, 2, GREEN}, {0, 2, RED}, {0, 6, RED}};
    static const char *const words[] = {"ok ", "no ", "not ok "};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (!strncmp(line, words[i], strlen(words[i])))
            return states[i];
    return (struct piece){0};
}

/* The severity, after the location or folded below it. Quoted lines have a gutter. */
static struct piece finding_piece(const char *line, size_t length, struct hunk *hunk)
{
    static const struct {
        const char *word, *color;
    } words[] = {{": error: ", RED}, {": warning: ", YELLOW}, {": note: ", CYAN}};
    struct piece found = {0};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        const char *at =
            *line == ' ' ? NULL : memmem(line, length, words[i].word, strlen(words[i].word));
        bool placed = at && at > line && at[-1] >= '0' && at[-1] <= '9';
        bool folded = !strncmp(line, "    ", 4) &&
                      !strncmp(line + 4, words[i].word + 2, strlen(words[i].word) - 2);
        size_t from = folded ? 4 : placed ? (size_t)(at - line) + 2 : 0;
        if (from && (!found.color || from < found.from))
            found = (struct piece){from, strlen(words[i].word) - 4, words[i].color};
    }
    return found;
}

static void put_line(FILE *out, enum tc_paint paint, const char *line, size_t length,
                     struct hunk *hunk)
{
    static struct piece (*const find[])(const char *, size_t, struct hunk *) = {
        [TC_PAINT_DIFF] = diff_piece,        [TC_PAINT_SIGNS] = sign_piece,
        [TC_PAINT_STATES] = state_piece,     [TC_PAINT_TAP] = state_piece,
        [TC_PAINT_FINDINGS] = finding_piece,
    };
    struct piece piece = find[paint](line, length, hunk);
    const char *behind = line + piece.from + piece.length;
    if (!piece.color) {
        (void)fwrite(line, 1, length, out);
        return;
    }
    (void)fwrite(line, 1, piece.from, out);
    (void)fprintf(out, "%s%.*s%s", piece.color, (int)piece.length, line + piece.from, PLAIN);
    (void)fwrite(behind, 1, length - piece.from - piece.length, out);
}

char *tc_color_paint(enum tc_paint paint, int fd, const char *text)
{
    struct hunk hunk = {0};
    char *painted = NULL;
    size_t size = 0;
    if (paint == TC_PAINT_NOTHING || paint == TC_PAINT_ROWS || !tc_color_on(fd))
        return strdup(text);
    FILE *out = open_memstream(&painted, &size);
    if (!out)
        return NULL;
    while (*text) {
        size_t length = strcspn(text, "\n");
        put_line(out, paint, text, length, &hunk);
        text += length;
        if (*text)
            (void)fputc(*text++, out);
    }
    return tc_cli_text(out, &painted);
}
