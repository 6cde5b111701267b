/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "vm/console.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "plan/guest.h"

void tc_console_read(struct tc_console *c, int fd)
{
    char bytes[TC_CONSOLE_BYTES / 2];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->ended = true;
    if (n <= 0)
        return;
    size_t room = sizeof(c->bytes) - (size_t)n;
    size_t keep = room < c->len ? room : c->len;
    memmove(c->bytes, c->bytes + c->len - keep, keep);
    memcpy(c->bytes + keep, bytes, (size_t)n);
    c->len = keep + (size_t)n;
}

bool tc_console_has(const struct tc_console *c, const char *text)
{
    return memmem(c->bytes, c->len, text, strlen(text)) != NULL;
}

bool tc_console_stuck(const struct tc_console *c)
{
    return tc_console_has(c, "KVM internal error") || tc_console_has(c, "KVM: entry failed");
}

/* Where it is said last; the end where it is not. */
static size_t find_last(const struct tc_console *c, const char *text)
{
    size_t len = strlen(text), at = c->len;
    while (at-- > 0)
        if (c->len - at >= len && memcmp(c->bytes + at, text, len) == 0)
            return at;
    return c->len;
}

/* What our own program said, or else whoever spoke last. */
char *tc_console_last_words(const struct tc_console *c)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    size_t end = c->len, begin = find_last(c, TC_GUEST_LAST_WORD);
    const char *newline = begin < end ? memchr(c->bytes + begin, '\n', end - begin) : NULL;
    if (newline)
        end = (size_t)(newline - c->bytes);
    while (end && (unsigned char)c->bytes[end - 1] <= ' ')
        end--;
    for (begin = begin < end ? begin : end; begin && c->bytes[begin - 1] != '\n'; begin--)
        ;
    for (size_t i = begin; i < end; i++)
        tc_buf_addc(&words, c->bytes[i] >= ' ' && c->bytes[i] < 127 ? c->bytes[i] : '?');
    return tc_buf_steal(&words);
}
