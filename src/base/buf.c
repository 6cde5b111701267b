/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

char *tc_buf_room(struct tc_buf *buf, size_t len)
{
    if (buf->failed || len >= buf->max || buf->len >= buf->max - len) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->len + len + 1;
    if (need > buf->cap) {
        size_t cap = buf->cap ? buf->cap : 64;
        while (cap < need)
            cap *= 2;
        char *data = realloc(buf->data, cap);
        if (!data) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->len;
}

void tc_buf_add(struct tc_buf *buf, const void *bytes, size_t len)
{
    char *to = tc_buf_room(buf, len);
    if (!to)
        return;
    if (len)
        memcpy(to, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void tc_buf_adds(struct tc_buf *buf, const char *text)
{
    tc_buf_add(buf, text, strlen(text));
}

void tc_buf_addc(struct tc_buf *buf, char c)
{
    tc_buf_add(buf, &c, 1);
}

void tc_buf_addi(struct tc_buf *buf, int64_t number)
{
    char digits[20]; /* with the sign: INT64_MIN has nineteen digits */
    size_t at = sizeof(digits);
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        digits[--at] = '-';
    tc_buf_add(buf, digits + at, sizeof(digits) - at);
}

void tc_buf_vaddf(struct tc_buf *buf, const char *fmt, va_list ap)
{
    char brief[256]; /* most strings are short, and formatting takes longer than copying */
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(brief, sizeof(brief), fmt, ap);
    char *to = len < 0 ? NULL : tc_buf_room(buf, (size_t)len);
    if (to) {
        if ((size_t)len < sizeof(brief))
            memcpy(to, brief, (size_t)len + 1);
        else
            (void)vsnprintf(to, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    } else {
        buf->failed = true;
    }
    va_end(again);
}

void tc_buf_addf(struct tc_buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(buf, fmt, ap);
    va_end(ap);
}

char *tc_buf_steal(struct tc_buf *buf)
{
    if (!buf->data)
        tc_buf_add(buf, "", 0);
    char *data = buf->failed ? NULL : TAKE(buf->data);
    size_t max = buf->max;
    tc_buf_done(buf);
    buf->max = max;
    return data;
}

void tc_buf_done(struct tc_buf *buf)
{
    free(buf->data);
    *buf = (struct tc_buf){0};
}
