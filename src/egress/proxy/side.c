/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One end of a flow: sends bytes, and buffers what the kernel does not accept. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/read/secrets.h"
#include "egress/read/stats.h"

static bool keep_bytes(struct tc_egress_side *to, const char *bytes, size_t len)
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

/* The number of bytes that the kernel accepted; -1: broken. */
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
    return (size_t)n == len || keep_bytes(to, bytes + n, len - (size_t)n);
}

bool tc_egress_side_push(struct tc_egress_side *to)
{
    const char *at;
    size_t len = tc_egress_tls_out(to->tls, &at);
    bool fine = !len || send_raw(to, at, len);
    tc_egress_tls_out_gone(to->tls);
    return fine;
}

bool tc_egress_side_send(struct tc_egress_proxy *p, struct tc_egress_side *to, const char *bytes,
                         size_t len)
{
    (void)p;
    if (!to->tls)
        return send_raw(to, bytes, len);
    return tc_egress_tls_write(to->tls, bytes, len) && tc_egress_side_push(to);
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

/* Bytes that the kernel does not accept now are dropped: the peer then takes the end for a break.
 */
static void say_end(struct tc_egress_side *side)
{
    tc_egress_tls_end(side->tls);
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

bool tc_egress_wrapping(const struct tc_egress_side *side)
{
    return side->tls && !tc_egress_tls_is_up(side->tls);
}

/* Sending to a flow's server, counted; and the flow's fate when the server no longer reads, or
 * `transfer` is used up. */
bool tc_egress_flow_deaf(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode != TC_MODE_REQUEST) {
        tc_egress_flow_close(p, f, true);
        return false;
    }
    f->rest.done = true;
    f->reply.wanted = false; /* the client may still send the rest of its request */
    free(TAKE(f->server.pending));
    f->server.len = 0;
    return true;
}

void tc_egress_flow_count(struct tc_egress_proxy *p, const struct tc_egress_flow *f, size_t len,
                          bool to_server)
{
    if (to_server == (f->role != TC_EGRESS_PUBLISHED))
        tc_egress_sent(p->stats, f->destination, len);
    else
        tc_egress_received(p->stats, f->destination, len);
}

/* A response may have begun. */
bool tc_egress_flow_spent(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->speaks = TC_SPEAKS_BYTES;
    tc_egress_flow_refuse(p, f, TC_EGRESS_SPENT, NULL);
    return false;
}

bool tc_egress_flow_send(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len)
{
    if (!tc_egress_meter_take(p, len))
        return tc_egress_flow_spent(p, f);
    if (!tc_egress_replays(p) && !tc_egress_side_send(p, &f->server, bytes, len))
        return tc_egress_flow_deaf(p, f);
    tc_egress_flow_count(p, f, len, true);
    return true;
}

/* The client gets the bytes, and so does the record. */
static bool tell(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes, size_t len)
{
    tc_egress_kept_reply(p, f, bytes, len);
    return tc_egress_side_send(p, &f->client, bytes, len);
}

bool tc_egress_flow_tell(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len)
{
    if (!f->masks)
        return tell(p, f, bytes, len);
    tc_buf_add(&f->tail, bytes, len);
    if (f->tail.failed)
        return false;
    size_t n = tc_egress_secrets_mask(&p->config.values, &f->tail);
    bool sent = !n || tell(p, f, f->tail.data, n);
    memmove(f->tail.data, f->tail.data + n, f->tail.len - n);
    f->tail.len -= n;
    return sent;
}

bool tc_egress_flow_tell_rest(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool sent = !f->tail.len || tell(p, f, f->tail.data, f->tail.len);
    f->tail.len = 0;
    return sent;
}
