/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Relays bytes between the two connections of a flow. Bytes are sent at once; only the unsent rest
 * is kept (side.c), and nothing more is read until the rest is sent. So an idle flow needs no
 * buffers, and a slow reader slows its writer down. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

/* ---- relaying ---- */

static bool broken(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_flow_close(p, f, true);
    return false;
}

/* Sends the body of a request. Bytes after the body are the next request, which is checked like
 * the first. */
static bool send_body(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                      size_t len)
{
    ssize_t n = tc_egress_http_rest_take(&f->rest, bytes, len);
    if (n < 0) {
        f->speaks = TC_SPEAKS_BYTES; /* a response may have begun */
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, NULL);
        return false;
    }
    if (n > 0 && !tc_egress_flow_send(p, f, bytes, (size_t)n))
        return false;
    tc_egress_kept_body(p, f, bytes, (size_t)n);
    tc_buf_add(&f->in, bytes + n, len - (size_t)n);
    return !f->in.failed || broken(p, f);
}

static bool from_client(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                        size_t len)
{
    if (f->stage == TC_FLOW_ENDING)
        return true;
    if (f->stage == TC_FLOW_JOINED && f->mode == TC_MODE_STREAM)
        return tc_egress_flow_send(p, f, bytes, len);
    if (f->stage == TC_FLOW_JOINED && f->mode == TC_MODE_REQUEST && !tc_egress_wrapping(&f->server))
        return send_body(p, f, bytes, len);
    bool first = !f->in.len && (!f->client.tls || f->mode == TC_MODE_BETWEEN);
    tc_buf_add(&f->in, bytes, len);
    if (f->in.failed)
        return broken(p, f);
    /* sent once the request is allowed, or inspected after it */
    if (tc_egress_wrapping(&f->server) || f->stage == TC_FLOW_SEEK)
        return true;
    if (f->stage == TC_FLOW_JOINED) {
        if (first)
            tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
        return f->mode == TC_MODE_BETWEEN ? tc_egress_exchange_take(p, f) : tc_egress_inspect(p, f);
    }
    if (f->stage == TC_FLOW_QUESTION)
        tc_egress_question(p, f);
    else
        tc_egress_handshake(p, f);
    return f->stage != TC_FLOW_DEAD;
}

static bool from_server(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                        size_t len)
{
    if (!tc_egress_hears(f))
        return broken(p, f);
    if (!tc_egress_meter_take(p, len))
        return tc_egress_flow_spent(p, f);
    tc_egress_flow_count(p, f, len, false);
    if (f->mode == TC_MODE_REQUEST || f->mode == TC_MODE_WEBSOCKET)
        return tc_egress_exchange(p, f, bytes, len);
    if (f->mode == TC_MODE_BETWEEN) { /* a response to no request */
        f->server.eof = true;
        return true;
    }
    if (f->role != TC_EGRESS_PUBLISHED)
        tc_egress_kept_lost(p, f, TC_EXCHANGE_OTHER);
    return tc_egress_flow_tell(p, f, bytes, len) || broken(p, f);
}

/* ---- end of file ---- */

/* The client has closed its sending direction. False: the flow is closed. */
static bool client_ended(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode == TC_MODE_REQUEST && !f->rest.done)
        return broken(p, f); /* an incomplete request is not forwarded */
    if (f->mode == TC_MODE_UNDECIDED && f->client.tls)
        return broken(p, f); /* TLS without a request */
    if (f->mode == TC_MODE_UNDECIDED && f->in.len && !tc_egress_inspect_end(p, f))
        return false;
    if (f->mode == TC_MODE_UNDECIDED)
        f->mode = TC_MODE_STREAM; /* it sent nothing */
    if (f->mode == TC_MODE_STREAM && !f->server.len)
        tc_egress_side_shut(&f->server);
    return true;
}

/* A server may end an idle connection; the next request then opens another. */
static void settle_between(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->client.eof) {
        tc_egress_flow_end(p, f);
        return;
    }
    if (f->server.eof)
        tc_egress_flow_leave(p, f);
    tc_egress_flow_watch(p, f);
}

/* The server has ended, and the client has all of it. False: the flow ends. */
static bool server_ended(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode == TC_MODE_REQUEST || f->mode == TC_MODE_WEBSOCKET) {
        tc_egress_flow_end(p, f);
        return false;
    }
    if (f->mode == TC_MODE_UNDECIDED && !f->client.eof)
        tc_egress_kept_lost(p, f, TC_EXCHANGE_OTHER); /* a protocol whose server ends first */
    tc_egress_side_shut(&f->client);
    return true;
}

static void settle_joined(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (tc_egress_replays(p) && !tc_egress_again_go_on(p, f))
        return;
    if (tc_egress_exchange_over(f) && !f->client.len && !tc_egress_exchange_next(p, f))
        return;
    if (f->mode == TC_MODE_BETWEEN && f->stage == TC_FLOW_JOINED) {
        settle_between(p, f);
        return;
    }
    if (f->client.eof && !f->server.len && !f->server.shut && !client_ended(p, f))
        return;
    if (f->server.eof && !tc_egress_exchange_end(p, f))
        return;
    if (f->server.eof && !f->client.len && !server_ended(p, f))
        return;
    if (f->client.shut && f->server.shut)
        tc_egress_flow_close(p, f, false);
    else
        tc_egress_flow_watch(p, f);
}

static void settle_ending(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!f->client.len)
        tc_egress_side_shut(&f->client);
    if (f->client.shut && f->client.eof)
        tc_egress_flow_close(p, f, false);
    else
        tc_egress_flow_watch(p, f);
}

static void settle_flow(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    switch (f->stage) {
    case TC_FLOW_JOINED:
        settle_joined(p, f);
        return;
    case TC_FLOW_ENDING:
        settle_ending(p, f);
        return;
    case TC_FLOW_GREET:
    case TC_FLOW_QUESTION:
        if (f->client.eof)
            tc_egress_flow_close(p, f, false);
        else
            tc_egress_flow_watch(p, f);
        return;
    case TC_FLOW_SEEK:
        tc_egress_flow_watch(p, f);
        return;
    case TC_FLOW_DEAD:
        return;
    }
}

/* ---- events ---- */

typedef bool pass_fn(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                     size_t len);

static void touch(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool held = (f->mode == TC_MODE_UNDECIDED && (f->in.len || f->client.tls)) ||
                f->mode == TC_MODE_BETWEEN || tc_egress_wrapping(&f->server);
    if (f->stage == TC_FLOW_JOINED && !held)
        f->deadline = p->now + TC_EGRESS_IDLE_US; /* later than before: no earlier wakeup needed */
}

/* Decrypts and relays everything available: no socket event would come for data left in the TLS
 * buffers. */
static bool unwrap(struct tc_egress_proxy *p, struct tc_egress_flow *f, struct tc_egress_side *from,
                   size_t len, pass_fn *pass)
{
    enum { RECORD = 16384 };
    char plain[RECORD];
    ssize_t n = 0;
    if (!tc_egress_tls_take(from->tls, p->scratch, len))
        return broken(p, f);
    if (tc_egress_wrapping(from) && !tc_egress_wrap_go_on(p, f, from))
        return false;
    if (tc_egress_wrapping(from))
        return true;
    while ((n = tc_egress_tls_read(from->tls, plain, sizeof(plain))) > 0)
        if (!pass(p, f, plain, (size_t)n))
            return false;
    from->eof = from->eof || tc_egress_tls_has_ended(from->tls);
    return (n == 0 && tc_egress_side_push(from)) || broken(p, f);
}

/* The peer of `from` has closed the connection. Over TLS, an end without a TLS close message may be
 * an attacker's: the other side then is cut off, too. False: the flow is closed. */
static bool flow_ended(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                       struct tc_egress_side *from, struct tc_egress_side *to)
{
    from->eof = true;
    if (from->tls && tc_egress_wrapping(from))
        return tc_egress_wrap_go_on(p, f, from);
    to->cut = from->tls && !tc_egress_tls_has_ended(from->tls);
    return true;
}

/* Reads from one side and passes the bytes on, for a few rounds only, so that no flow starves the
 * others. False: the flow is closed. */
static bool drain(struct tc_egress_proxy *p, struct tc_egress_flow *f, struct tc_egress_side *from,
                  struct tc_egress_side *to, pass_fn *pass)
{
    enum { ROUNDS = 4 };
    enum tc_egress_stage stage = f->stage;
    for (int i = 0;
         i < ROUNDS && !from->eof && !to->len && !tc_egress_wrapping(to) && f->stage == stage;
         i++) {
        size_t room = tc_egress_meter_room(p, sizeof(p->scratch));
        if (!room)
            return true;
        ssize_t n = recv(from->watch.fd, p->scratch, room, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n < 0)
            return broken(p, f);
        touch(p, f);
        if (n == 0)
            return flow_ended(p, f, from, to);
        tc_egress_meter_read(p, (size_t)n);
        if (!(from->tls ? unwrap(p, f, from, (size_t)n, pass) : pass(p, f, p->scratch, (size_t)n)))
            return false;
        if ((size_t)n < room)
            return true;
    }
    return true;
}

static struct tc_egress_flow *flow_of(struct tc_egress_watch *watch, size_t offset)
{
    return (struct tc_egress_flow *)(void *)((char *)watch - offset);
}

void tc_egress_client_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events)
{
    struct tc_egress_flow *f = flow_of(watch, offsetof(struct tc_egress_flow, client.watch));
    (void)events;
    if (f->stage == TC_FLOW_SEEK) { /* in this stage an event can only be the client's end */
        tc_egress_flow_close(p, f, true);
        return;
    }
    if (!tc_egress_side_flush(&f->client)) {
        (void)broken(p, f);
        return;
    }
    if (drain(p, f, &f->client, &f->server, from_client))
        settle_flow(p, f);
}

void tc_egress_server_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events)
{
    struct tc_egress_flow *f = flow_of(watch, offsetof(struct tc_egress_flow, server.watch));
    (void)events;
    if (f->stage == TC_FLOW_SEEK) {
        tc_egress_connect_ready(p, f);
        return;
    }
    if (!tc_egress_side_flush(&f->server) && !tc_egress_flow_deaf(p, f))
        return;
    if (drain(p, f, &f->server, &f->client, from_server))
        settle_flow(p, f);
}
