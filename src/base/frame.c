/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/frame.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_number(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t read_u32(const char *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)from[i] << (8 * i);
    return value;
}

void tc_frame_put(struct tc_buf *out, uint32_t kind, const void *bytes, size_t len)
{
    unsigned char head[TC_FRAME_HEAD];
    if (len > UINT32_MAX) {
        out->failed = true;
        return;
    }
    put_number(head, kind);
    put_number(head + 4, (uint32_t)len);
    tc_buf_add(out, head, sizeof(head));
    if (len)
        tc_buf_add(out, bytes, len);
}

struct tc_frames tc_frames_of(const size_t *most, size_t kinds)
{
    struct tc_frames frames = {.in = TC_BUF_INIT, .most = most, .kinds = kinds};
    frames.in.max = SIZE_MAX / 2;
    return frames;
}

static void drop_taken(struct tc_frames *f)
{
    f->in.len -= f->at;
    if (f->at && f->in.len)
        memmove(f->in.data, f->in.data + f->at, f->in.len);
    f->at = 0;
}

ssize_t tc_frames_read(struct tc_frames *f, int fd)
{
    ssize_t n;
    if (f->failed) {
        errno = EPROTO;
        return -1;
    }
    drop_taken(f);
    char *to = tc_buf_room(&f->in, TC_FRAME_READ);
    if (!to) {
        f->failed = true;
        errno = ENOMEM;
        return -1;
    }
    do
        n = read(fd, to, TC_FRAME_READ);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        f->in.len += (size_t)n;
    return n;
}

int tc_frames_next(struct tc_frames *f, struct tc_frame *ret)
{
    size_t left = f->in.len - f->at;
    if (f->failed)
        return -1;
    if (left < TC_FRAME_HEAD)
        return 0;
    const char *head = f->in.data + f->at;
    uint32_t kind = read_u32(head), len = read_u32(head + 4);
    if (kind >= f->kinds || len > f->most[kind]) {
        f->failed = true;
        return -1;
    }
    if (left - TC_FRAME_HEAD < len)
        return 0;
    *ret = (struct tc_frame){.kind = kind, .bytes = head + TC_FRAME_HEAD, .len = len};
    f->at += TC_FRAME_HEAD + len;
    return 1;
}

bool tc_frames_cut(const struct tc_frames *f)
{
    return f->in.len > f->at;
}

void tc_frames_done(struct tc_frames *f)
{
    tc_buf_done(&f->in);
    f->at = 0;
}
