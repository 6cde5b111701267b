/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One request after the other on a client's connection. Each is parsed and checked,
 * and only the parsed parts are forwarded; the next one is read only after the response to the one
 * before was delivered completely. */
#include <string.h>

#include "egress/proxy/flow.h"

static bool broken(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_flow_close(p, f, true);
    return false;
}

static bool tell(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes, size_t len)
{
    return !len || tc_egress_flow_tell(p, f, bytes, len) || broken(p, f);
}

/* ---- the response ---- */

/* Client and server speak another protocol from here on; sends what the client sent already. */
static bool switch_protocol(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->mode = TC_MODE_STREAM;
    tc_egress_kept_lost(p, f, TC_EXCHANGE_OTHER);
    bool open = !f->in.len || tc_egress_flow_send(p, f, f->in.data, f->in.len);
    tc_egress_empty(&f->in);
    return open;
}

static bool take_head(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                      enum tc_egress_http_read *ret)
{
    _autobuf_ struct tc_buf head = TC_BUF_INIT;
    size_t size = 0;
    *ret =
        tc_egress_reply_head(&f->reply, f->answer.data, f->answer.len, f->rest.done, &head, &size);
    if (head.failed)
        return broken(p, f);
    if (*ret != TC_EGRESS_HTTP_DONE)
        return true;
    bool open = tell(p, f, head.data, head.len);
    memmove(f->answer.data, f->answer.data + size, f->answer.len - size);
    f->answer.len -= size;
    if (open && f->reply.stage == TC_REPLY_SWITCHED)
        return switch_protocol(p, f);
    if (f->mode == TC_MODE_WEBSOCKET && f->reply.stage != TC_REPLY_HEAD)
        f->mode = TC_MODE_REQUEST; /* the upgrade was refused */
    return open;
}

/* Bytes after the response belong to no request: they are dropped, and the server's connection
 * serves no other request. */
static bool take_body(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                      size_t len)
{
    size_t n = tc_egress_reply_body(&f->reply, bytes, len);
    if (n < len)
        f->reply.server_stays = false;
    return tell(p, f, bytes, n);
}

bool tc_egress_exchange(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                        size_t len)
{
    enum tc_egress_http_read got = TC_EGRESS_HTTP_DONE;
    if (f->reply.stage != TC_REPLY_HEAD)
        return take_body(p, f, bytes, len);
    tc_buf_add(&f->answer, bytes, len);
    if (f->answer.failed)
        return broken(p, f);
    /* an informational response (1xx) is followed by another head */
    while (f->reply.stage == TC_REPLY_HEAD && f->answer.len && got == TC_EGRESS_HTTP_DONE)
        if (!take_head(p, f, &got))
            return false;
    if (f->reply.stage == TC_REPLY_HEAD)
        return true;
    /* no valid head: the upgrade failed, and the bytes are relayed unchanged */
    if (got == TC_EGRESS_HTTP_BAD && f->mode == TC_MODE_WEBSOCKET)
        f->mode = TC_MODE_REQUEST;
    bool open = take_body(p, f, f->answer.data, f->answer.len);
    tc_egress_empty(&f->answer);
    return open;
}

bool tc_egress_exchange_end(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool open = tell(p, f, f->answer.data, f->answer.len);
    tc_egress_empty(&f->answer);
    return open && (tc_egress_flow_tell_rest(p, f) || broken(p, f));
}

/* ---- the next request ---- */

bool tc_egress_exchange_over(const struct tc_egress_flow *f)
{
    return f->mode == TC_MODE_REQUEST && f->rest.done && f->reply.stage == TC_REPLY_DONE &&
           !f->server.len;
}

/* Some clients send an empty line after a request. */
static void skip_lines(struct tc_buf *in)
{
    size_t n = 0;
    while (in->len >= n + 2 && memcmp(in->data + n, "\r\n", 2) == 0)
        n += 2;
    memmove(in->data, in->data + n, in->len - n);
    in->len -= n;
}

bool tc_egress_exchange_take(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    skip_lines(&f->in);
    if (!f->in.len)
        return true;
    if (!f->proxied)
        return tc_egress_inspect(p, f);
    tc_egress_handshake_again(p, f);
    return f->stage != TC_FLOW_DEAD;
}

bool tc_egress_exchange_next(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!tc_egress_flow_tell_rest(p, f))
        return broken(p, f);
    if (f->client.len) /* a part of the response is not sent yet */
        return true;
    tc_egress_kept_end(p, f, f->reply.client_stays);
    if (!f->reply.client_stays) {
        tc_egress_flow_end(p, f);
        return false;
    }
    if (!f->reply.server_stays)
        tc_egress_flow_leave(p, f);
    f->mode = TC_MODE_BETWEEN;
    tc_egress_flow_deadline(p, f, f->in.len ? TC_EGRESS_HEAD_US : TC_EGRESS_KEPT_US);
    if (!tc_egress_exchange_take(p, f))
        return false;
    if (f->mode == TC_MODE_BETWEEN && f->client.eof)
        tc_egress_flow_end(p, f);
    return f->stage == TC_FLOW_JOINED;
}
