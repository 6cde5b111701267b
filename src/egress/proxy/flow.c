/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/flow.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "egress/read/socks.h"
#include "egress/read/stats.h"

/* ---- lifetime ---- */

/* SO_LINGER makes the kernel send a reset when the proxy is killed, so a broken connection never
 * looks complete. An orderly close clears it first. */
void tc_egress_set_reset(int fd, bool reset)
{
    const struct linger linger = {.l_onoff = reset, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void tc_egress_set_nodelay(int fd)
{
    const int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* Sets the sizes of a socket's buffers, before connect() announces the window to the peer. The
 * cage's memory limit does not count socket buffers. So they are smaller if there are more
 * connections, which limits their total to some hundred MiB. */
void tc_egress_bound_buffers(int fd, size_t flows)
{
    enum { FEW = 32, MANY = 128 };
    const int size = flows <= FEW ? 1 << 20 : flows <= MANY ? 1 << 18 : 1 << 16;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

void tc_egress_flow_deadline(struct tc_egress_proxy *p, struct tc_egress_flow *f, int64_t us)
{
    f->deadline = p->now + us;
    if (!p->wake || f->deadline < p->wake)
        p->wake = f->deadline;
}

static void side_done(struct tc_egress_side *side)
{
    free(side->pending);
    side->pending = NULL;
    side->len = 0;
    tc_egress_tls_free(side->tls);
    side->tls = NULL;
}

void tc_egress_flow_close(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool reset)
{
    if (f->stage == TC_FLOW_DEAD)
        return;
    tc_egress_kept_close(p, f, false);
    if (!reset)
        tc_egress_set_reset(f->client.watch.fd, false);
    if (f->server.watch.fd >= 0)
        tc_egress_set_reset(f->server.watch.fd, reset);
    tc_egress_watch_close(p, &f->client.watch);
    tc_egress_watch_close(p, &f->server.watch);
    side_done(&f->client);
    side_done(&f->server);
    if (f->query)
        tc_egress_resolve_end(p, TAKE(f->query));
    f->stage = TC_FLOW_DEAD;
    if (f->prev)
        f->prev->next = f->next;
    else
        p->flows = f->next;
    if (f->next)
        f->next->prev = f->prev;
    f->next = p->dead;
    p->dead = f;
    *(f->role == TC_EGRESS_PUBLISHED ? &p->published_count : &p->flow_count) -= 1;
}

void tc_egress_flow_leave(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->server.watch.fd >= 0)
        tc_egress_set_reset(f->server.watch.fd, false);
    tc_egress_watch_close(p, &f->server.watch);
    side_done(&f->server);
    f->server.eof = f->server.shut = f->server.cut = false;
    f->client.cut = false;
    f->address_count = f->address_next = 0;
    free(TAKE(f->way));
}

/* ---- the end ---- */

/* Has the client, once it has received the pending bytes, the whole response? */
static bool is_answered(const struct tc_egress_flow *f)
{
    return f->reply.stage == TC_REPLY_DONE ||
           (f->reply.stage == TC_REPLY_OPEN && f->server.eof && !f->client.cut);
}

void tc_egress_flow_end(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->stage == TC_FLOW_DEAD)
        return;
    tc_egress_kept_close(p, f, is_answered(f));
    if (f->server.watch.fd >= 0)
        tc_egress_set_reset(f->server.watch.fd, false);
    tc_egress_watch_close(p, &f->server.watch);
    if (f->query)
        tc_egress_resolve_end(p, TAKE(f->query));
    tc_buf_done(&f->in);
    f->stage = TC_FLOW_ENDING;
    tc_egress_flow_deadline(p, f, TC_EGRESS_END_US);
    if (!f->client.len)
        tc_egress_side_shut(&f->client);
    if (f->client.shut && f->client.eof)
        tc_egress_flow_close(p, f, false);
    else
        tc_egress_flow_watch(p, f);
}

static void send_refusal(struct tc_egress_proxy *p, struct tc_egress_flow *f, int what,
                         const char *why)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    unsigned char socks[TC_EGRESS_SOCKS_ANSWER_SIZE];
    bool denied = what < TC_EGRESS_REASONS;
    if (f->speaks == TC_SPEAKS_SOCKS) {
        tc_egress_socks_answer(denied ? TC_EGRESS_SOCKS_DENIED : TC_EGRESS_SOCKS_UNREACHABLE,
                               socks);
        tc_buf_add(&text, socks, sizeof(socks));
    } else {
        tc_egress_refusal(&text, &p->config, what, f->to.name[0] ? f->to.name : NULL, f->to.port,
                          why);
    }
    if (text.failed || !tc_egress_side_send(p, &f->client, text.data, text.len)) {
        tc_egress_flow_close(p, f, true);
        return;
    }
    tc_egress_kept_reply(p, f, text.data, text.len);
    tc_egress_kept_close(p, f, f->reply.stage == TC_REPLY_HEAD);
    tc_egress_flow_end(p, f);
}

/* Does the refusal depend on more than the policy and the request? */
static bool is_outside(int what)
{
    return what == TC_EGRESS_NOT_PUBLIC ||
           (what >= TC_EGRESS_REASONS && what != TC_EGRESS_NO_PROXY_FORM);
}

void tc_egress_flow_refuse(struct tc_egress_proxy *p, struct tc_egress_flow *f, int what,
                           const char *why)
{
    char target[TC_EGRESS_TARGET_MAX];
    if (f->stage == TC_FLOW_DEAD)
        return;
    if (f->role == TC_EGRESS_PUBLISHED) { /* nothing of the tool was refused */
        tc_egress_flow_close(p, f, true);
        return;
    }
    tc_egress_target(f->to.name[0] ? f->to.name : "proxy", f->to.name[0] ? f->to.port : 0, target);
    bool detailed = what == TC_EGRESS_NOT_PUBLIC || what == TC_EGRESS_NOT_KEPT;
    if (what < TC_EGRESS_REASONS)
        tc_egress_deny(p->stats, target, (enum tc_egress_reason)what, detailed ? why : NULL, false);
    else
        tc_egress_unreached(p->stats, target, (enum tc_egress_failure)what);
    if (is_outside(what) && !f->kept.open)
        tc_egress_kept_lost(p, f, TC_EXCHANGE_FAILED);
    if (f->speaks == TC_SPEAKS_BYTES)
        tc_egress_flow_close(p, f, true);
    else
        send_refusal(p, f, what, why);
}

/* ---- watched events ---- */

static bool reads_client(const struct tc_egress_proxy *p, const struct tc_egress_flow *f)
{
    if (f->client.eof || p->meter.rest_until)
        return false;
    if (f->stage == TC_FLOW_JOINED)
        return !f->server.len && f->mode != TC_MODE_WEBSOCKET && !tc_egress_wrapping(&f->server) &&
               f->in.len < TC_EGRESS_HTTP_HEAD_MAX;
    return f->stage != TC_FLOW_SEEK;
}

bool tc_egress_hears(const struct tc_egress_flow *f)
{
    if (f->bound && f->mode == TC_MODE_UNDECIDED)
        return false;
    return !f->client.tls || f->server.tls;
}

static bool reads_server(const struct tc_egress_proxy *p, const struct tc_egress_flow *f)
{
    return f->stage == TC_FLOW_JOINED && !f->server.eof && !f->client.len && !p->meter.rest_until &&
           tc_egress_hears(f);
}

static uint32_t wanted(const struct tc_egress_side *side, bool reads)
{
    return (reads ? EPOLLIN : 0U) | (side->len ? EPOLLOUT : 0U);
}

void tc_egress_flow_watch(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool fine;
    if (f->stage == TC_FLOW_DEAD)
        return;
    if (f->stage == TC_FLOW_SEEK) {
        fine =
            tc_egress_watch_end(p, &f->client.watch) &&
            tc_egress_watch_for(p, &f->server.watch, f->way && f->way->asked ? EPOLLIN : EPOLLOUT);
    } else {
        fine = tc_egress_watch_for(p, &f->client.watch, wanted(&f->client, reads_client(p, f))) &&
               tc_egress_watch_for(p, &f->server.watch, wanted(&f->server, reads_server(p, f)));
    }
    if (!fine)
        tc_egress_flow_close(p, f, true);
}
