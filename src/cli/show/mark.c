/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *const ours[] = {"toolcage:", "hint:", "run it?"};
static const char erase[] = "\x1b[K"; /* the line from the cursor on */

bool tc_cli_draws(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static void start_line(struct tc_marker *m)
{
    *m = (struct tc_marker){.plain = m->plain, .by = m->by};
}

/* Would this character, the last one of a beginning, make the line begin as one of ours? */
static bool is_ours(const struct tc_marker *m, char c)
{
    for (size_t i = 0; i < TC_COUNT(ours); i++)
        if (strlen(ours[i]) == m->column + 1 && ours[i][m->column] == c &&
            !memcmp(ours[i], m->begun, m->column))
            return true;
    return false;
}

static void put_char(struct tc_marker *m, FILE *out, char c)
{
    if (m->returned && !m->plain) /* or the rest of what was there would be read on behind it */
        (void)fputs(erase, out);
    m->returned = false;
    if (!m->other && is_ours(m, c)) {
        (void)fprintf(out, " (said by the %s)", m->by ? m->by : "tool");
        m->other = true;
    }
    m->other = m->other || m->column == sizeof(m->begun);
    if (!m->other && (unsigned char)c < 0x80) /* what else there is may show as nothing */
        m->begun[m->column++] = c;
    (void)fputc(c, out);
}

char *tc_mark_lines(struct tc_marker *mark, const char *bytes, size_t length, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '\n' || c == '\r') {
            bool returned = c == '\r' && (mark->column || mark->other || mark->returned);
            start_line(mark);
            mark->returned = returned;
            (void)fputc(c, out);
        } else {
            put_char(mark, out, c);
        }
    }
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}
