/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The client's handshake: which host it wants to reach. */
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/read/rules.h"
#include "egress/read/socks.h"
#include "egress/read/stats.h"
#include "policy/endpoint.h"

static void use(struct tc_egress_flow *f, size_t bytes)
{
    memmove(f->in.data, f->in.data + bytes, f->in.len - bytes);
    f->in.len -= bytes;
}

/* ---- destination ---- */

/* A program that used the cage's resolver first connects to the name's synthetic address. */
static void go(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_name_meant(&p->names, &f->to);
    f->literal = tc_host_is_address(f->to.name);
    if (!tc_egress_may_some(&p->config, f->to.name, f->to.port))
        tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_NAMED, NULL);
    else
        (void)tc_egress_reach(p, f);
}

/* ---- SOCKS ---- */

static void last_words(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                       const unsigned char *bytes, size_t len)
{
    if (tc_egress_side_send(p, &f->client, (const char *)bytes, len))
        tc_egress_flow_end(p, f);
    else
        tc_egress_flow_close(p, f, true);
}

static void handshake_socks4(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    unsigned char answer[TC_SOCKS4_ANSWER_SIZE];
    tc_egress_socks4_refusal(answer);
    last_words(p, f, answer, sizeof(answer));
}

static void socks_request(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    unsigned char answer[TC_EGRESS_SOCKS_ANSWER_SIZE];
    enum tc_egress_socks_code code;
    size_t used = 0;
    enum tc_egress_socks got =
        tc_egress_socks_request((const unsigned char *)f->in.data, f->in.len, &used, &f->to, &code);
    if (got == TC_EGRESS_SOCKS_MORE)
        return;
    f->speaks = TC_SPEAKS_SOCKS;
    if (got == TC_EGRESS_SOCKS_DONE) {
        use(f, used);
        go(p, f);
    } else if (code == TC_EGRESS_SOCKS_DENIED) { /* an ambiguous host */
        f->to.name[0] = '\0';
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, NULL);
    } else {
        tc_egress_socks_answer(code, answer);
        last_words(p, f, answer, sizeof(answer));
    }
}

static void handshake_socks(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    static const unsigned char fine[] = {5, 0}, none[] = {5, 0xff};
    size_t used = 0;
    if (!f->greeted) {
        enum tc_egress_socks got =
            tc_egress_socks_greeting((const unsigned char *)f->in.data, f->in.len, &used);
        if (got == TC_EGRESS_SOCKS_BAD)
            last_words(p, f, none, sizeof(none));
        if (got != TC_EGRESS_SOCKS_DONE)
            return;
        use(f, used);
        f->greeted = true;
        if (!tc_egress_side_send(p, &f->client, (const char *)fine, sizeof(fine))) {
            tc_egress_flow_close(p, f, true);
            return;
        }
    }
    socks_request(p, f);
}

/* ---- HTTP ---- */

static void proxy_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                          const struct tc_egress_http_head *head)
{
    enum { HTTP_PORT = 80 };
    f->to.port = f->to.port ? f->to.port : HTTP_PORT;
    const char *why;
    int reason = tc_egress_judge_request(&p->config, f->to.name, f->to.port, head, &why);
    if (reason)
        tc_egress_flow_refuse(p, f, reason, why);
    else if (!tc_egress_take_request(p, f, head))
        tc_egress_flow_close(p, f, true);
    else
        go(p, f);
}

void tc_egress_handshake_again(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_egress_http_head head;
    enum tc_egress_http_read got = tc_egress_http_read(f->in.data, f->in.len, &head);
    if (got == TC_EGRESS_HTTP_MORE)
        return;
    f->speaks = TC_SPEAKS_HTTP;
    if (got == TC_EGRESS_HTTP_BAD) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, head.why);
        return;
    }
    if (head.form == TC_EGRESS_HTTP_ORIGIN || head.form == TC_EGRESS_HTTP_ASTERISK) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_NO_PROXY_FORM, NULL);
        return;
    }
    f->to = head.host;
    f->proxied = head.form == TC_EGRESS_HTTP_ABSOLUTE;
    if (f->proxied) {
        proxy_request(p, f, &head);
        return;
    }
    tc_egress_flow_leave(p, f);
    f->mode = TC_MODE_UNDECIDED;
    f->speaks = TC_SPEAKS_CONNECT;
    use(f, head.size);
    go(p, f);
}

void tc_egress_handshake(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!f->in.len)
        return;
    if (f->in.data[0] == 5)
        handshake_socks(p, f);
    else if (f->greeted)
        socks_request(p, f);
    else if (f->in.data[0] == 4)
        handshake_socks4(p, f);
    else
        tc_egress_handshake_again(p, f);
}

/* ---- direct connections ---- */

static bool read_destination(const struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    union tc_inet to;
    return tc_meant_connection(f->client.watch.fd, f->role == TC_EGRESS_REDIRECTED, &to) &&
           tc_egress_address_meant(&p->names, &to, &f->to);
}

void tc_egress_handshake_direct(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool too_many)
{
    f->speaks = TC_SPEAKS_BYTES;
    if (!read_destination(p, f))
        tc_egress_flow_close(p, f, true);
    else if (too_many)
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_MANY, NULL);
    else
        go(p, f);
}
