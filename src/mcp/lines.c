/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SHARE = 65536 };

/* Ensures room for `more` bytes after the first `length`. */
static bool make_room(char **text, size_t *size, size_t length, size_t more)
{
    size_t want = *size ? *size : READ_SHARE;
    if (length + more <= *size)
        return true;
    while (want < length + more)
        want *= 2;
    char *grown = realloc(*text, want);
    if (!grown) {
        errno = ENOMEM;
        return false;
    }
    *text = grown;
    *size = want;
    return true;
}

static void forget_taken(struct tc_lines *lines)
{
    if (!lines->taken)
        return;
    memmove(lines->text, lines->text + lines->taken, lines->length - lines->taken);
    lines->length -= lines->taken;
    lines->taken = 0;
}

bool tc_lines_add(struct tc_lines *lines, const char *bytes, size_t length)
{
    forget_taken(lines);
    if (!make_room(&lines->text, &lines->size, lines->length, length))
        return false;
    memcpy(lines->text + lines->length, bytes, length);
    lines->length += length;
    return true;
}

int tc_lines_read(struct tc_lines *lines, int fd)
{
    forget_taken(lines);
    if (!make_room(&lines->text, &lines->size, lines->length, READ_SHARE))
        return -1;
    ssize_t n = read(fd, lines->text + lines->length, READ_SHARE);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 1 : -1;
    lines->length += (size_t)n;
    return n > 0;
}

/* Reads a part of a line that is too long. */
static void skip_part(struct tc_lines *lines, const char *part, size_t length)
{
    if (!lines->skipping)
        lines->rescue = (struct tc_rescue){0};
    tc_rescue_add(&lines->rescue, part, length);
}

enum tc_line tc_lines_next(struct tc_lines *lines, const char **ret, size_t *ret_length)
{
    size_t rest = lines->length - lines->taken;
    const char *start = rest ? lines->text + lines->taken : NULL;
    const char *end = start ? memchr(start, '\n', rest) : NULL;
    size_t length = end ? (size_t)(end - start) : rest;
    bool before = lines->skipping;
    if (lines->skipped) {
        lines->skipped = false;
        return TC_LINE_SKIPPED;
    }
    if (!end && length <= TC_LINE_MAX && !before)
        return TC_LINE_NONE;
    lines->taken += length + (end ? 1 : 0);
    *ret = start;
    *ret_length = length;
    if (length <= TC_LINE_MAX && !before)
        return TC_LINE_WHOLE;
    skip_part(lines, start, length);
    lines->skipping = !end;
    if (!before) {
        lines->skipped = end;
        return TC_LINE_TOO_LONG;
    }
    return end ? TC_LINE_SKIPPED : TC_LINE_NONE;
}

void tc_lines_done(struct tc_lines *lines)
{
    free(lines->text);
    *lines = (struct tc_lines){0};
}

bool tc_outbox_add(struct tc_outbox *box, const char *text, size_t length)
{
    /* compacts even if the box is never empty, so that it does not grow forever */
    if (box->sent > box->length / 2) {
        memmove(box->text, box->text + box->sent, box->length - box->sent);
        box->length -= box->sent;
        box->sent = 0;
    }
    if (!make_room(&box->text, &box->size, box->length, length + 1))
        return false;
    memcpy(box->text + box->length, text, length);
    box->text[box->length + length] = '\n';
    box->length += length + 1;
    return true;
}

size_t tc_outbox_pending(const struct tc_outbox *box)
{
    return box->length - box->sent;
}

int tc_outbox_write(struct tc_outbox *box, int fd)
{
    size_t pending = tc_outbox_pending(box);
    /* a pipe that poll() reports as writable takes this many bytes */
    ssize_t n = write(fd, box->text + box->sent, pending < PIPE_BUF ? pending : PIPE_BUF);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -1;
    box->sent += (size_t)n;
    return 0;
}

void tc_outbox_done(struct tc_outbox *box)
{
    free(box->text);
    *box = (struct tc_outbox){0};
}
