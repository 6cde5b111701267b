/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mux/mux.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER = 4 };

const size_t tc_mux_most[TC_MUX_KINDS] = {
    [TC_MUX_OPEN] = NUMBER + sizeof(struct tc_mux_to),
    [TC_MUX_BYTES] = NUMBER + TC_MUX_PIECE,
    [TC_MUX_CREDIT] = NUMBER + NUMBER,
    [TC_MUX_END] = NUMBER,
    [TC_MUX_CLOSE] = NUMBER + 1,
};

static uint32_t read_u32(const char *from)
{
    uint32_t value = 0;
    for (int i = 0; i < NUMBER; i++)
        value |= (uint32_t)(unsigned char)from[i] << (8 * i);
    return value;
}

static void put_number(char *to, uint32_t value)
{
    for (int i = 0; i < NUMBER; i++)
        to[i] = (char)(unsigned char)(value >> (8 * i));
}

/* ---- life cycle ---- */

bool tc_mux_init(struct tc_mux *m, bool opens, size_t count)
{
    *m = (struct tc_mux){.opens = opens, .out = TC_BUF_INIT};
    m->streams = calloc(count, sizeof(*m->streams));
    m->count = m->streams ? count : 0;
    return m->streams != NULL;
}

void tc_mux_done(struct tc_mux *m)
{
    for (size_t i = 0; i < m->count; i++)
        tc_buf_done(&m->streams[i].in);
    free(m->streams);
    tc_buf_done(&m->out);
    *m = (struct tc_mux){.out = TC_BUF_INIT};
}

static void begin_stream(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_mux_to *to)
{
    *s = (struct tc_mux_stream){
        .used = true, .may_come = TC_MUX_WINDOW, .may_go = TC_MUX_WINDOW, .in = TC_BUF_INIT};
    s->to = *to;
    m->used++;
}

static void drop_stream(struct tc_mux_stream *s)
{
    tc_buf_done(&s->in);
    s->in = TC_BUF_INIT;
    s->at = 0;
}

/* Frees the number after both sides have sent CLOSE. */
static void let_go(struct tc_mux *m, struct tc_mux_stream *s)
{
    if (!s->said_close || !s->heard_close)
        return;
    drop_stream(s);
    s->used = false;
    m->used--;
}

/* ---- sending ---- */

static bool is_full(const struct tc_mux *m)
{
    return m->out.len - m->sent >= TC_MUX_AHEAD;
}

static uint32_t id_of(const struct tc_mux *m, const struct tc_mux_stream *s)
{
    return (uint32_t)(s - m->streams);
}

static void put_frame(struct tc_mux *m, uint32_t id, enum tc_mux_kind kind, const void *bytes,
                      size_t len)
{
    char body[NUMBER + TC_MUX_PIECE];
    put_number(body, id);
    if (len)
        memcpy(body + NUMBER, bytes, len);
    tc_frame_put(&m->out, kind, body, NUMBER + len);
}

static void put_credit(struct tc_mux *m, struct tc_mux_stream *s)
{
    char owed[NUMBER];
    put_number(owed, s->owed);
    put_frame(m, id_of(m, s), TC_MUX_CREDIT, owed, sizeof(owed));
    s->may_come += s->owed;
    s->owed = 0;
}

/* Sends CREDIT when half of the window was taken, so the peer never stalls on the other half. */
static void settle_stream(struct tc_mux *m, struct tc_mux_stream *s)
{
    const char cut = (char)s->cut;
    if (s->owed >= TC_MUX_WINDOW / 2 && !s->closed && !s->heard_end && !s->heard_close)
        put_credit(m, s);
    if (s->ended && !s->said_end && !s->closed && !s->heard_close) {
        put_frame(m, id_of(m, s), TC_MUX_END, NULL, 0);
        s->said_end = true;
    }
    if (s->closed && !s->said_close) {
        put_frame(m, id_of(m, s), TC_MUX_CLOSE, &cut, 1);
        s->said_close = true;
        let_go(m, s);
    }
}

void tc_mux_settle(struct tc_mux *m)
{
    for (size_t i = 0; i < m->count && !is_full(m); i++)
        if (m->streams[i].used)
            settle_stream(m, &m->streams[i]);
}

void tc_mux_gone(struct tc_mux *m, size_t len)
{
    m->sent += len;
    if (!m->sent || (m->sent < m->out.len && m->sent < TC_MUX_AHEAD))
        return;
    memmove(m->out.data, m->out.data + m->sent, m->out.len - m->sent);
    m->out.len -= m->sent;
    m->sent = 0;
}

bool tc_mux_open(struct tc_mux *m, const struct tc_mux_to *to, uint32_t *ret_id)
{
    for (size_t i = 0; m->opens && i < m->count && !is_full(m); i++) {
        if (m->streams[i].used)
            continue;
        begin_stream(m, &m->streams[i], to);
        *ret_id = (uint32_t)i;
        put_frame(m, *ret_id, TC_MUX_OPEN, to, sizeof(*to));
        return true;
    }
    return false;
}

static bool says(const struct tc_mux_stream *s)
{
    return s->used && !s->ended && !s->closed && !s->heard_close;
}

size_t tc_mux_room(const struct tc_mux *m, uint32_t id)
{
    const struct tc_mux_stream *s = &m->streams[id];
    size_t room = says(s) && !is_full(m) ? s->may_go : 0;
    return room < TC_MUX_PIECE ? room : TC_MUX_PIECE;
}

void tc_mux_say(struct tc_mux *m, uint32_t id, const void *bytes, size_t len)
{
    if (!len || len > tc_mux_room(m, id))
        return;
    put_frame(m, id, TC_MUX_BYTES, bytes, len);
    m->streams[id].may_go -= (uint32_t)len;
}

void tc_mux_end(struct tc_mux *m, uint32_t id)
{
    if (m->streams[id].used)
        m->streams[id].ended = true;
}

void tc_mux_close(struct tc_mux *m, uint32_t id, bool cut)
{
    struct tc_mux_stream *s = &m->streams[id];
    if (!s->used || s->closed)
        return;
    s->closed = true;
    s->cut = cut;
    drop_stream(s);
}

/* ---- receiving ---- */

const char *tc_mux_heard(const struct tc_mux *m, uint32_t id, size_t *ret_len)
{
    const struct tc_mux_stream *s = &m->streams[id];
    *ret_len = s->in.len - s->at;
    return *ret_len ? s->in.data + s->at : "";
}

void tc_mux_taken(struct tc_mux *m, uint32_t id, size_t len)
{
    struct tc_mux_stream *s = &m->streams[id];
    s->at += len;
    s->owed += (uint32_t)len;
    if (s->at == s->in.len)
        s->in.len = s->at = 0;
}

static int break_off(struct tc_mux *m, const char *fault)
{
    m->fault = m->fault ? m->fault : fault;
    return -1;
}

static int take_open(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_frame *f)
{
    struct tc_mux_to to;
    if (m->opens)
        return break_off(m, "opened a connection in the wrong direction");
    if (s->used)
        return break_off(m, "opened a connection that is already open");
    if (f->len != NUMBER + sizeof(to))
        return break_off(m, "opened a connection without a target");
    memcpy(&to, f->bytes + NUMBER, sizeof(to));
    begin_stream(m, s, &to);
    return TC_MUX_OPENED;
}

/* Bytes that were in flight when this side closed are dropped. */
static int take_bytes(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_frame *f)
{
    size_t len = f->len - NUMBER;
    if (s->heard_end)
        return break_off(m, "sent bytes on a connection after its end");
    if (!len || len > s->may_come)
        return break_off(m, "sent more bytes on a connection than its window allows");
    s->may_come -= (uint32_t)len;
    if (s->closed)
        return TC_MUX_NOTHING;
    if (s->at) {
        s->in.len -= s->at;
        memmove(s->in.data, s->in.data + s->at, s->in.len);
        s->at = 0;
    }
    tc_buf_add(&s->in, f->bytes + NUMBER, len);
    return s->in.failed ? -1 : TC_MUX_CHANGED;
}

static int take_credit(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_frame *f)
{
    uint32_t more = f->len == NUMBER + NUMBER ? read_u32(f->bytes + NUMBER) : 0;
    if (!more || more > TC_MUX_WINDOW - s->may_go)
        return break_off(m, "acknowledged more bytes of a connection than were sent");
    s->may_go += more;
    return TC_MUX_CHANGED;
}

static int take_end(struct tc_mux *m, struct tc_mux_stream *s)
{
    if (s->heard_end)
        return break_off(m, "ended a connection twice");
    s->heard_end = true;
    return s->closed ? TC_MUX_NOTHING : TC_MUX_CHANGED;
}

static int take_close(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_frame *f)
{
    if (f->len != NUMBER + 1 || (f->bytes[NUMBER] & ~1))
        return break_off(m, "sent a malformed frame to close a connection");
    s->heard_close = s->heard_end = true;
    s->heard_cut = f->bytes[NUMBER];
    let_go(m, s);
    return s->closed ? TC_MUX_NOTHING : TC_MUX_CHANGED;
}

static int take_frame(struct tc_mux *m, struct tc_mux_stream *s, const struct tc_frame *f)
{
    if (f->kind == TC_MUX_OPEN)
        return take_open(m, s, f);
    if (!s->used || s->heard_close)
        return break_off(m, "sent a frame for a connection that is not open");
    switch (f->kind) {
    case TC_MUX_BYTES:
        return take_bytes(m, s, f);
    case TC_MUX_CREDIT:
        return take_credit(m, s, f);
    case TC_MUX_END:
        return take_end(m, s);
    default:
        return take_close(m, s, f);
    }
}

int tc_mux_take(struct tc_mux *m, const struct tc_frame *f, enum tc_mux_event *ret,
                uint32_t *ret_id)
{
    *ret = TC_MUX_NOTHING;
    if (m->fault)
        return -1;
    if (f->kind >= TC_MUX_KINDS || f->len < NUMBER || f->len > tc_mux_most[f->kind])
        return break_off(m, "sent an invalid frame for a connection");
    *ret_id = read_u32(f->bytes);
    if (*ret_id >= m->count)
        return break_off(m, "used a connection number that is too large");
    int did = take_frame(m, &m->streams[*ret_id], f);
    *ret = did < 0 ? TC_MUX_NOTHING : (enum tc_mux_event)did;
    return did < 0 ? -1 : 0;
}
