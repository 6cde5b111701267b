/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/mux/mux.c: what a hostile guest says of its connections, and the host's own part
 * between. The input is a row of three bytes: what is done, by which connection, and how much. Up
 * to TC_MUX_KINDS the guest says a frame of that kind, which is of the right length unless a bit of
 * the first byte says that it lies; else the host takes what came, speaks, ends, closes, or the
 * guest reads. Whatever comes: no more is held than the windows allow, and what the host says keeps
 * the rules itself, which is counted here apart. */
#include "fuzz.h"

#include <string.h>

#include "mux/mux.h"

enum { COUNT = 8, LIES = 0x80, OPS = 10, UNIT = 130 };

/* What the guest knows of a connection. One that it opens before it has heard of its end, though
 * that was on its way, it cannot follow any more. */
struct known {
    bool open, said_close, heard_end, heard_close, lost;
    size_t may_come, sent;
};

struct run {
    struct tc_mux host;
    struct known known[COUNT];
    struct tc_frames heard;
};

static void put_number(char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(unsigned char)(value >> (8 * i));
}

static uint32_t number(const char *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)from[i] << (8 * i);
    return value;
}

/* ---- the guest ---- */

static size_t length_of(uint32_t kind, size_t much)
{
    size_t bytes = much * UNIT + 1;
    switch (kind) {
    case TC_MUX_OPEN:
        return sizeof(struct tc_mux_to);
    case TC_MUX_BYTES:
        return bytes < TC_MUX_PIECE ? bytes : TC_MUX_PIECE;
    case TC_MUX_CREDIT:
        return 4;
    default:
        return kind == TC_MUX_CLOSE;
    }
}

static void learn(struct known *k, uint32_t kind, size_t much)
{
    if (kind == TC_MUX_OPEN)
        *k = (struct known){.open = true, .may_come = TC_MUX_WINDOW, .lost = k->lost || k->open};
    else if (kind == TC_MUX_CREDIT)
        k->may_come += much;
    else if (kind == TC_MUX_CLOSE)
        k->said_close = true;
    else if (kind == TC_MUX_BYTES)
        k->sent += much;
    if (k->said_close && k->heard_close)
        k->open = false;
}

static bool say(struct run *r, uint8_t what, uint8_t id, uint8_t much)
{
    static char body[4 + TC_MUX_PIECE];
    enum tc_mux_event event;
    uint32_t at, kind = what & ~LIES & 7;
    bool lies = what & LIES;
    size_t len = lies ? much : length_of(kind, much);
    put_number(body, lies && id == 255 ? UINT32_MAX : id % (COUNT + 1));
    if (kind == TC_MUX_CREDIT)
        put_number(body + 4, (uint32_t)much * UNIT);
    else
        memset(body + 4, much & 1, sizeof(body) - 4);
    const struct tc_frame f = {.kind = kind, .bytes = body, .len = lies && id == 254 ? 0 : 4 + len};
    int rc = tc_mux_take(&r->host, &f, &event, &at);
    INVARIANT(rc == 0 || r->host.fault);
    INVARIANT(rc == 0 || event == TC_MUX_NOTHING);
    if (rc == 0)
        learn(&r->known[at], kind, kind == TC_MUX_CREDIT ? (size_t)much * UNIT : len);
    return rc == 0;
}

/* By the rules alone: what it hears is of an open connection, within what it may hear. */
static void hear_one(struct run *r, const struct tc_frame *f)
{
    INVARIANT(f->len >= 4 && number(f->bytes) < COUNT);
    struct known *k = &r->known[number(f->bytes)];
    if (k->lost)
        return;
    INVARIANT(k->open && !k->heard_close);
    size_t len = f->len - 4;
    switch (f->kind) {
    case TC_MUX_BYTES:
        INVARIANT(len && len <= k->may_come && !k->heard_end);
        k->may_come -= len;
        break;
    case TC_MUX_CREDIT:
        INVARIANT(len == 4 && number(f->bytes + 4) <= k->sent);
        k->sent -= number(f->bytes + 4);
        break;
    case TC_MUX_END:
        INVARIANT(!k->heard_end && !len);
        k->heard_end = true;
        break;
    default:
        INVARIANT(f->kind == TC_MUX_CLOSE && len == 1);
        k->heard_close = true;
        if (k->said_close)
            k->open = false;
    }
}

static void hear(struct run *r, size_t len)
{
    struct tc_frame f;
    size_t there = r->host.out.len - r->host.sent;
    len = len < there ? len : there;
    if (!len)
        return;
    tc_buf_add(&r->heard.in, r->host.out.data + r->host.sent, len);
    tc_mux_gone(&r->host, len);
    while (tc_frames_next(&r->heard, &f) > 0)
        hear_one(r, &f);
    INVARIANT(!r->heard.failed);
    if (!tc_frames_cut(&r->heard))
        r->heard.in.len = r->heard.at = 0;
}

/* ---- the host ---- */

static void act(struct run *r, uint8_t what, uint32_t id, size_t much)
{
    static char bytes[TC_MUX_PIECE];
    struct tc_mux *m = &r->host;
    size_t len, room = tc_mux_room(m, id);
    (void)tc_mux_heard(m, id, &len);
    INVARIANT(room <= TC_MUX_PIECE && len <= TC_MUX_WINDOW);
    much *= UNIT;
    if (what == 0 && m->streams[id].used)
        tc_mux_taken(m, id, len < much ? len : much);
    else if (what == 1)
        tc_mux_say(m, id, bytes, room < much ? room : much);
    else if (what == 2)
        tc_mux_end(m, id);
    else if (what == 3)
        tc_mux_close(m, id, much & 1);
}

static void look_at(const struct tc_mux *m)
{
    size_t used = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct tc_mux_stream *s = &m->streams[i];
        used += s->used;
        INVARIANT(s->in.len <= TC_MUX_WINDOW + s->at && s->at <= TC_MUX_WINDOW);
        INVARIANT(!s->used || s->may_come <= TC_MUX_WINDOW);
        INVARIANT(s->used || !s->in.len);
    }
    INVARIANT(used == m->used);
    INVARIANT(m->out.len - m->sent < TC_MUX_AHEAD + TC_MUX_PIECE + 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.heard = tc_frames_of(tc_mux_most, TC_MUX_KINDS)};
    INVARIANT(tc_mux_init(&r.host, false, COUNT));
    for (; size >= 3; data += 3, size -= 3) {
        uint8_t what = data[0];
        if ((what & ~LIES) % 2 == 0) {
            if (!say(&r, (uint8_t)((what & LIES) | ((what & ~LIES) / 2)), data[1], data[2]))
                break;
        } else if ((what & ~LIES) / 2 % OPS < 4) {
            act(&r, (what & ~LIES) / 2 % OPS, data[1] % COUNT, data[2]);
        } else {
            tc_mux_settle(&r.host);
            hear(&r, (size_t)data[1] * data[2] + data[2]);
        }
        look_at(&r.host);
    }
    tc_mux_settle(&r.host);
    hear(&r, SIZE_MAX);
    look_at(&r.host);
    tc_frames_done(&r.heard);
    tc_mux_done(&r.host);
    return 0;
}
