/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "bridge/sse.h"

#include <string.h>

/* A header carries only an id of visible characters. Another one cannot be resumed from. */
static void take_id(struct tc_sse *e, const char *value, size_t length)
{
    e->id[0] = '\0';
    if (length >= sizeof(e->id))
        return;
    for (size_t i = 0; i < length; i++)
        if (value[i] < '!' || value[i] > '~')
            return;
    memcpy(e->id, value, length);
    e->id[length] = '\0';
}

static void take_retry(struct tc_sse *e, const char *value, size_t length)
{
    int64_t ms = 0;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        ms = ms > TC_SSE_RETRY_MAX_MS ? ms : ms * 10 + (value[i] - '0');
    }
    if (length)
        e->retry_ms = ms < TC_SSE_RETRY_MIN_MS   ? TC_SSE_RETRY_MIN_MS
                      : ms > TC_SSE_RETRY_MAX_MS ? TC_SSE_RETRY_MAX_MS
                                                 : ms;
}

static void take_field(struct tc_sse *e, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    size_t name = colon ? (size_t)(colon - line) : length;
    const char *value = colon ? colon + 1 : line + length;
    size_t rest = length - (size_t)(value - line);
    if (rest && *value == ' ') {
        value++;
        rest--;
    }
    if (name == 4 && memcmp(line, "data", name) == 0) {
        if (e->begun++)
            tc_buf_addc(&e->data, '\n');
        tc_buf_add(&e->data, value, rest);
    } else if (name == 5 && memcmp(line, "event", name) == 0) {
        e->other = rest && !(rest == 7 && memcmp(value, "message", rest) == 0);
    } else if (name == 2 && memcmp(line, "id", name) == 0) {
        take_id(e, value, rest);
    } else if (name == 5 && memcmp(line, "retry", name) == 0) {
        take_retry(e, value, rest);
    }
}

static void empty(struct tc_buf *buf)
{
    tc_buf_done(buf);
    *buf = (struct tc_buf){.max = TC_SSE_MAX};
}

static void end_event(struct tc_sse *e,
                      void (*take)(void *userdata, const char *data, size_t length), void *userdata)
{
    if (e->data.len && !e->other && !e->data.failed)
        take(userdata, e->data.data, e->data.len);
    e->begun = 0;
    e->other = false;
    empty(&e->data);
}

static void end_line(struct tc_sse *e,
                     void (*take)(void *userdata, const char *data, size_t length), void *userdata)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *line = e->line.len ? e->line.data : "";
    size_t length = e->line.len;
    if (!e->started && length >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
        length -= 3;
    }
    e->started = true;
    if (length)
        take_field(e, line, length);
    else
        end_event(e, take, userdata);
    e->line.len = 0;
}

bool tc_sse_add(struct tc_sse *e, const char *bytes, size_t length,
                void (*take)(void *userdata, const char *data, size_t length), void *userdata)
{
    e->line.max = e->data.max = TC_SSE_MAX;
    while (length && !e->line.failed && !e->data.failed) {
        size_t n = 0;
        if (e->after_cr && *bytes == '\n') {
            bytes++;
            length--;
        }
        e->after_cr = false;
        while (n < length && bytes[n] != '\n' && bytes[n] != '\r')
            n++;
        tc_buf_add(&e->line, bytes, n);
        if (n == length)
            break;
        e->after_cr = bytes[n] == '\r';
        bytes += n + 1;
        length -= n + 1;
        if (!e->line.failed)
            end_line(e, take, userdata);
    }
    return !e->line.failed && !e->data.failed;
}

void tc_sse_again(struct tc_sse *e)
{
    empty(&e->line);
    empty(&e->data);
    e->begun = 0;
    e->after_cr = e->started = e->other = false;
}

void tc_sse_done(struct tc_sse *e)
{
    tc_buf_done(&e->line);
    tc_buf_done(&e->data);
}
