/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Inspects what a client sends to its server. Bytes are kept until their protocol is known: the
 * name in TLS or HTTP must be the allowed one. Other protocols are relayed unchanged; for those,
 * only the address is enforced. */
#include <string.h>

#include "egress/proxy/flow.h"
#include "egress/read/rules.h"
#include "egress/read/secrets.h"
#include "egress/read/sniff.h"
#include "egress/read/stats.h"
#include "policy/endpoint.h"

static bool refuse_request(struct tc_egress_proxy *p, struct tc_egress_flow *f, int what,
                           const char *why)
{
    tc_egress_flow_refuse(p, f, what, why);
    return false;
}

static bool stream(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!tc_egress_may_stream(&p->config, f->to.name, f->to.port))
        return refuse_request(p, f, TC_EGRESS_NOT_NAMED, NULL);
    if (tc_egress_replays(p))
        return refuse_request(p, f, TC_EGRESS_NOT_KEPT, "a connection that is not inspected");
    tc_egress_kept_lost(p, f, TC_EXCHANGE_OTHER);
    f->mode = TC_MODE_STREAM;
    tc_egress_flow_deadline(p, f, TC_EGRESS_IDLE_US);
    bool open = tc_egress_flow_send(p, f, f->in.data, f->in.len);
    tc_buf_done(&f->in);
    return open;
}

/* A client without SNI gets the server's default certificate at an address that was checked, so it
 * reaches nothing outside the grant. Where the grant names an address, any SNI is allowed. */
static bool inspect_tls(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_egress_host asked;
    enum tc_egress_hello got =
        tc_egress_hello_read((const unsigned char *)f->in.data, f->in.len, &asked);
    if (got == TC_HELLO_MORE)
        return true;
    if (got == TC_HELLO_UNCLEAR)
        return refuse_request(p, f, TC_EGRESS_UNCLEAR, NULL);
    bool streams = tc_egress_may_stream(&p->config, f->to.name, f->to.port);
    if (asked.name[0] && !(f->literal && streams) && strcmp(asked.name, f->to.name) != 0)
        return refuse_request(p, f, TC_EGRESS_OTHER_NAME, NULL);
    return streams || !p->authority ? stream(p, f) : tc_egress_wrap_client(p, f);
}

/* Does the request name the host that was connected to? */
static bool same_host(const struct tc_egress_flow *f, const struct tc_egress_host *stats)
{
    if (stats->port && stats->port != f->to.port)
        return false;
    return f->literal || !stats->name[0] || strcmp(stats->name, f->to.name) == 0;
}

static bool inspect_http(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_egress_http_head head;
    enum tc_egress_http_read got = tc_egress_http_read(f->in.data, f->in.len, &head);
    if (got == TC_EGRESS_HTTP_MORE)
        return true;
    f->speaks = TC_SPEAKS_HTTP;
    if (got == TC_EGRESS_HTTP_BAD)
        return refuse_request(p, f, TC_EGRESS_UNCLEAR, head.why);
    if (head.form == TC_EGRESS_HTTP_AUTHORITY)
        return refuse_request(p, f, TC_EGRESS_UNCLEAR, "it asks the server to act as a proxy");
    if (!same_host(f, &head.host))
        return refuse_request(p, f, TC_EGRESS_OTHER_NAME, NULL);
    const char *why;
    int reason = tc_egress_judge_request(&p->config, f->to.name, f->to.port, &head, &why);
    if (reason)
        return refuse_request(p, f, reason, why);
    if (!tc_egress_take_request(p, f, &head)) {
        tc_egress_flow_close(p, f, true);
        return false;
    }
    return tc_egress_reach(p, f);
}

bool tc_egress_inspect(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    /* inspected TLS may carry only requests, and so may a connection that carried one */
    if (f->client.tls || f->mode == TC_MODE_BETWEEN)
        return inspect_http(p, f);
    switch (tc_egress_sniff(f->in.data, f->in.len)) {
    case TC_SNIFF_TLS:
        return inspect_tls(p, f);
    case TC_SNIFF_HTTP:
        return inspect_http(p, f);
    case TC_SNIFF_OTHER:
        return stream(p, f);
    case TC_SNIFF_UNCLEAR:
        return refuse_request(p, f, TC_EGRESS_UNCLEAR, "its first line does not end");
    case TC_SNIFF_MORE:
        break;
    }
    return true;
}

/* An incomplete first line could still have become a request; after the end of file it cannot. */
bool tc_egress_inspect_end(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    bool word = tc_egress_sniff(f->in.data, f->in.len) == TC_SNIFF_MORE &&
                !(f->in.data[0] >= 0x14 && f->in.data[0] <= 0x18);
    return word ? stream(p, f) : refuse_request(p, f, TC_EGRESS_UNCLEAR, "it is incomplete");
}

/* May the server get another request on this connection? Not after a body: a server that does not
 * read it takes it for the next request, which was not inspected. Where every request is allowed,
 * such a request gains nothing. */
static bool may_follow(const struct tc_egress_proxy *p, const struct tc_egress_flow *f,
                       const struct tc_egress_http_head *head)
{
    bool any =
        tc_host_is_address(f->to.name) && tc_egress_may_stream(&p->config, f->to.name, f->to.port);
    return head->keep && (any || head->body == TC_EGRESS_HTTP_NO_BODY);
}

bool tc_egress_take_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                            const struct tc_egress_http_head *head)
{
    struct tc_egress_http_line lines[TC_EGRESS_SECRETS_MAX + 1];
    size_t count = tc_egress_replays(p) ? 0
                                        : tc_egress_secrets_for(&p->config, f->to.name, f->to.port,
                                                                f->client.tls != NULL, lines);
    bool last = !may_follow(p, f, head);
    tc_egress_http_forward(head, lines, count, last, &f->head);
    tc_egress_http_rest_start(&f->rest, head);
    tc_egress_reply_start(&f->reply, head, last);
    f->mode = head->websocket ? TC_MODE_WEBSOCKET : TC_MODE_REQUEST;
    if (f->head.failed)
        return false;
    tc_egress_kept_request(p, f, head);
    size_t size = head->size; /* `head` borrows from the bytes that move now */
    memmove(f->in.data, f->in.data + size, f->in.len - size);
    f->in.len -= size;
    return true;
}

/* Of the bytes after the head, sends only the body; the others are the next request. */
bool tc_egress_forward(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    ssize_t body = tc_egress_http_rest_take(&f->rest, f->in.data, f->in.len);
    if (body < 0)
        return refuse_request(p, f, TC_EGRESS_UNCLEAR, "its body is ambiguous");
    bool open = tc_egress_flow_send(p, f, f->head.data, f->head.len) &&
                (!body || tc_egress_flow_send(p, f, f->in.data, (size_t)body));
    if (!open)
        return false;
    tc_egress_kept_body(p, f, f->in.data, (size_t)body);
    tc_egress_flow_deadline(p, f, TC_EGRESS_IDLE_US);
    tc_egress_empty(&f->head);
    memmove(f->in.data, f->in.data + body, f->in.len - (size_t)body);
    f->in.len -= (size_t)body;
    if (!f->in.len)
        tc_egress_empty(&f->in);
    return true;
}
