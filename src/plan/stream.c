/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "plan/stream.h"

#include <string.h>

static size_t half(const struct tc_output *o)
{
    return o->limit / 2;
}

/* Fills the head up to half the limit. The bytes after it go through the ring, whose content stays
 * contiguous as long as nothing is left out. */
static size_t add_head(struct tc_output *o, const char *bytes, size_t len)
{
    size_t room = o->all ? len : o->limit - half(o) - o->head_len;
    size_t n = room < len ? room : len;
    if (n == 0)
        return 0;
    if (o->head_len + n > o->head_cap) {
        size_t cap = o->head_cap ? o->head_cap * 2 : 4096;
        while (cap < o->head_len + n)
            cap *= 2;
        char *head = realloc(o->head, cap);
        if (!head) {
            o->failed = true;
            return 0;
        }
        o->head = head;
        o->head_cap = cap;
    }
    memcpy(o->head + o->head_len, bytes, n);
    o->head_len += n;
    return n;
}

static void add_tail(struct tc_output *o, const char *bytes, size_t len)
{
    size_t size = half(o);
    if (size == 0 || len == 0)
        return;
    if (!o->tail)
        o->tail = malloc(size);
    if (!o->tail) {
        o->failed = true;
        return;
    }
    if (len > size) {
        bytes += len - size;
        len = size;
    }
    size_t first = size - o->tail_at < len ? size - o->tail_at : len;
    memcpy(o->tail + o->tail_at, bytes, first);
    memcpy(o->tail, bytes + first, len - first);
    o->tail_at = (o->tail_at + len) % size;
    o->tail_len = o->tail_len + len < size ? o->tail_len + len : size;
}

void tc_output_add(struct tc_output *o, const char *bytes, size_t len)
{
    o->bytes += (int64_t)len;
    size_t n = o->failed ? 0 : add_head(o, bytes, len);
    if (!o->failed)
        add_tail(o, bytes + n, len - n);
}

void tc_output_drop(struct tc_output *o, size_t len)
{
    o->head_len -= len;
    if (len && o->head_len)
        memmove(o->head, o->head + len, o->head_len);
}

bool tc_output_over(const struct tc_output *o)
{
    return o->bytes > (int64_t)o->limit;
}

void tc_output_finish(struct tc_output *o, size_t skip, struct tc_stream *ret)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    int64_t left_out = o->all ? 0 : o->bytes - (int64_t)o->head_len - (int64_t)o->tail_len;
    buf.max = SIZE_MAX / 2;
    if (o->head_len > skip)
        tc_buf_add(&buf, o->head + skip, o->head_len - skip);
    if (left_out)
        tc_buf_addf(&buf, "\n[... %lld bytes left out ...]\n", (long long)left_out);
    if (o->tail_len) {
        size_t size = half(o), start = o->tail_len < size ? 0 : o->tail_at;
        size_t first = o->tail_len - start < o->tail_len ? o->tail_len - start : o->tail_len;
        tc_buf_add(&buf, o->tail + start, first);
        tc_buf_add(&buf, o->tail, o->tail_len - first);
    }
    ret->bytes = o->bytes;
    ret->truncated = left_out != 0;
    ret->head_len = buf.failed ? 0 : buf.len;
    ret->head = tc_buf_steal(&buf);
    if (!ret->head)
        ret->truncated = true;
}

void tc_output_done(struct tc_output *o)
{
    free(o->head);
    free(o->tail);
    *o = (struct tc_output){0};
}
