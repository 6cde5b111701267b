/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Bytes between the two connections of a flow. What one side sends goes to the other at once; only
 * what that does not take is kept, and nothing more is read until it has gone. So a flow that waits
 * holds no memory, and a slow reader slows its writer down. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/flow.h"
#include "egress/meter.h"
#include "egress/refusal.h"
#include "egress/said.h"
#include "egress/secrets.h"

/* ---- out ----------------------------------------------------------------------------------------
 */

static bool keep(struct tc_egress_side *to, const char *bytes, size_t len)
{
    char *grown = malloc(to->len + len);
    if (!grown)
        return false;
    if (to->len)
        memcpy(grown, to->pending + to->at, to->len);
    memcpy(grown + to->len, bytes, len);
    free(to->pending);
    to->pending = grown;
    to->at = 0;
    to->len += len;
    return true;
}

/* How much of it the kernel takes; -1: broken. */
static ssize_t push(int fd, const char *bytes, size_t len)
{
    ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n;
}

static bool send_raw(struct tc_egress_side *to, const char *bytes, size_t len)
{
    ssize_t n = to->len ? 0 : push(to->watch.fd, bytes, len);
    if (n < 0)
        return false;
    return (size_t)n == len || keep(to, bytes + n, len - (size_t)n);
}

bool tc_egress_side_push(struct tc_egress_side *to)
{
    const char *at;
    size_t len = tc_tls_out(to->tls, &at);
    bool fine = !len || send_raw(to, at, len);
    tc_tls_out_gone(to->tls);
    return fine;
}

bool tc_egress_side_send(struct tc_egress_proxy *p, struct tc_egress_side *to, const char *bytes,
                         size_t len)
{
    (void)p;
    if (!to->tls)
        return send_raw(to, bytes, len);
    return tc_tls_write(to->tls, bytes, len) && tc_egress_side_push(to);
}

bool tc_egress_side_flush(struct tc_egress_side *to)
{
    if (!to->len)
        return true;
    ssize_t n = push(to->watch.fd, to->pending + to->at, to->len);
    if (n < 0)
        return false;
    to->at += (size_t)n;
    to->len -= (size_t)n;
    if (!to->len) {
        free(to->pending);
        to->pending = NULL;
    }
    return true;
}

/* What the kernel does not take of the last word would have its end taken for a break. */
static void say_end(struct tc_egress_side *side)
{
    tc_tls_end(side->tls);
    (void)tc_egress_side_push(side);
    free(TAKE(side->pending));
    side->len = 0;
}

void tc_egress_side_shut(struct tc_egress_side *side)
{
    if (side->tls && !side->cut && !side->shut && side->watch.fd >= 0)
        say_end(side);
    if (!side->shut && side->watch.fd >= 0)
        (void)shutdown(side->watch.fd, SHUT_WR);
    side->shut = true;
}

/* ---- between ------------------------------------------------------------------------------------
 */

static bool broken(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_flow_close(p, f, true);
    return false;
}

/* A server that takes no more of a request may have answered it: that is read yet. */
static bool deaf(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode != TC_MODE_REQUEST)
        return broken(p, f);
    f->rest.done = true;
    free(TAKE(f->server.pending));
    f->server.len = 0;
    return true;
}

/* An answer may be on its way already. */
static bool spent(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->speaks = TC_SPEAKS_BYTES;
    tc_egress_flow_refuse(p, f, TC_EGRESS_SPENT, NULL);
    return false;
}

bool tc_egress_flow_send(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len)
{
    if (!tc_egress_meter_take(p, len))
        return spent(p, f);
    if (!tc_egress_side_send(p, &f->server, bytes, len))
        return deaf(p, f);
    tc_egress_sent(p->said, f->destination, len);
    return true;
}

/* The body of a request; what is behind it is dropped, because nobody has read whom it is for. */
static bool send_body(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                      size_t len)
{
    ssize_t n = tc_http_rest_take(&f->rest, bytes, len);
    if (n < 0) {
        f->speaks = TC_SPEAKS_BYTES; /* the answer may be on its way */
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, NULL);
        return false;
    }
    return n == 0 || tc_egress_flow_send(p, f, bytes, (size_t)n);
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
    bool first = !f->in.len && !f->client.tls;
    tc_buf_add(&f->in, bytes, len);
    if (f->in.failed)
        return broken(p, f);
    if (tc_egress_wrapping(&f->server)) /* it goes when the request may */
        return true;
    if (f->stage == TC_FLOW_JOINED) {
        if (first)
            tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
        return tc_egress_inspect(p, f);
    }
    if (f->stage == TC_FLOW_QUESTION)
        tc_egress_question(p, f);
    else
        tc_egress_greet(p, f);
    return f->stage != TC_FLOW_DEAD;
}

/* A server that refuses to become a websocket answers a request, and what the client says next
 * would be another one that nobody reads. */
static void judge_upgrade(struct tc_egress_flow *f, const char *bytes, size_t len)
{
    static const char yes[] = "HTTP/1.1 101";
    bool fine = len >= sizeof(yes) - 1 && memcmp(bytes, yes, sizeof(yes) - 1) == 0;
    f->mode = fine ? TC_MODE_STREAM : TC_MODE_REQUEST;
}

/* What may be the beginning of a secret waits for what follows it. */
static bool tell(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes, size_t len)
{
    if (!f->masks)
        return tc_egress_side_send(p, &f->client, bytes, len);
    tc_buf_add(&f->tail, bytes, len);
    if (f->tail.failed)
        return false;
    size_t n = tc_egress_secrets_mask(&p->config.values, &f->tail);
    bool sent = !n || tc_egress_side_send(p, &f->client, f->tail.data, n);
    memmove(f->tail.data, f->tail.data + n, f->tail.len - n);
    f->tail.len -= n;
    return sent;
}

static bool tell_rest(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool sent = !f->tail.len || tc_egress_side_send(p, &f->client, f->tail.data, f->tail.len);
    f->tail.len = 0;
    return sent || broken(p, f);
}

static bool from_server(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                        size_t len)
{
    if (!tc_egress_hears(f))
        return broken(p, f);
    if (!tc_egress_meter_take(p, len))
        return spent(p, f);
    if (f->mode == TC_MODE_WEBSOCKET)
        judge_upgrade(f, bytes, len);
    tc_egress_received(p->said, f->destination, len);
    return tell(p, f, bytes, len) || broken(p, f);
}

/* ---- ends ---------------------------------------------------------------------------------------
 */

/* The client has said its last word. */
static bool client_ended(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode == TC_MODE_REQUEST && !f->rest.done)
        return broken(p, f); /* a part of a request is none */
    if (f->mode == TC_MODE_UNDECIDED && f->client.tls)
        return broken(p, f); /* it has said no request */
    if (f->mode == TC_MODE_UNDECIDED && f->in.len && !tc_egress_inspect_end(p, f))
        return false;
    if (f->mode == TC_MODE_UNDECIDED)
        f->mode = TC_MODE_STREAM; /* it has nothing to say */
    if (f->mode == TC_MODE_STREAM && !f->server.len)
        tc_egress_side_shut(&f->server);
    return true;
}

static void settle_joined(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->client.eof && !f->server.len && !f->server.shut && !client_ended(p, f))
        return;
    if (f->server.eof && !tell_rest(p, f))
        return;
    if (f->server.eof && !f->client.len) {
        if (f->mode == TC_MODE_REQUEST || f->mode == TC_MODE_WEBSOCKET) {
            tc_egress_flow_end(p, f);
            return;
        }
        tc_egress_side_shut(&f->client);
    }
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

static void settle(struct tc_egress_proxy *p, struct tc_egress_flow *f)
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

/* ---- events -------------------------------------------------------------------------------------
 */

typedef bool pass_fn(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                     size_t len);

static void touch(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool held = (f->mode == TC_MODE_UNDECIDED && (f->in.len || f->client.tls)) ||
                tc_egress_wrapping(&f->server);
    if (f->stage == TC_FLOW_JOINED && !held)
        f->deadline = p->now + TC_EGRESS_IDLE_US; /* later than it was: nothing to wake for */
}

/* What is said inside of it; all that is there, so that nothing waits without a socket to wake for
 * it. */
static bool unwrap(struct tc_egress_proxy *p, struct tc_egress_flow *f, struct tc_egress_side *from,
                   size_t len, pass_fn *pass)
{
    enum { RECORD = 16384 };
    char plain[RECORD];
    ssize_t n = 0;
    if (!tc_tls_take(from->tls, p->scratch, len))
        return broken(p, f);
    if (tc_egress_wrapping(from) && !tc_egress_wrap_go_on(p, f, from))
        return false;
    if (tc_egress_wrapping(from))
        return true;
    while ((n = tc_tls_read(from->tls, plain, sizeof(plain))) > 0)
        if (!pass(p, f, plain, (size_t)n))
            return false;
    from->eof = from->eof || tc_tls_has_ended(from->tls);
    return (n == 0 && tc_egress_side_push(from)) || broken(p, f);
}

/* The connection is at its end, in order or not. */
static bool ended(struct tc_egress_proxy *p, struct tc_egress_flow *f, struct tc_egress_side *from,
                  struct tc_egress_side *to)
{
    from->eof = true;
    if (from->tls && tc_egress_wrapping(from))
        return tc_egress_wrap_go_on(p, f, from);
    to->cut = from->tls && !tc_tls_has_ended(from->tls);
    return true;
}

/* A few rounds, so that no flow starves the others. False: the flow is closed. */
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
            return ended(p, f, from, to);
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
    if (f->stage == TC_FLOW_SEEK) { /* only its end is watched */
        tc_egress_flow_close(p, f, true);
        return;
    }
    if (!tc_egress_side_flush(&f->client)) {
        (void)broken(p, f);
        return;
    }
    if (drain(p, f, &f->client, &f->server, from_client))
        settle(p, f);
}

void tc_egress_server_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch,
                            uint32_t events)
{
    struct tc_egress_flow *f = flow_of(watch, offsetof(struct tc_egress_flow, server.watch));
    (void)events;
    if (f->stage == TC_FLOW_SEEK) {
        tc_egress_seek_ready(p, f);
        return;
    }
    if (!tc_egress_side_flush(&f->server) && !deaf(p, f))
        return;
    if (drain(p, f, &f->server, &f->client, from_server))
        settle(p, f);
}
