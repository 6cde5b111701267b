/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The first words of a client: whom it wants to reach. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/flow.h"
#include "egress/refusal.h"
#include "egress/rules.h"
#include "egress/socks.h"
#include "policy/endpoint.h"

static void use(struct tc_egress_flow *f, size_t bytes)
{
    memmove(f->in.data, f->in.data + bytes, f->in.len - bytes);
    f->in.len -= bytes;
}

/* ---- whom ---------------------------------------------------------------------------------------
 */

static uint32_t synthetic_number(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return tc_synthetic_of_v4(v4);
    return inet_pton(AF_INET6, host, &v6) == 1 ? tc_synthetic_of_v6(&v6) : 0;
}

/* A program that asked the cage's resolver first comes with the address that stands for the name.
 */
static void name_of_synthetic(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    const char *name = tc_egress_names_name(&p->names, synthetic_number(f->to.name));
    if (name)
        tc_strcopy(f->to.name, sizeof(f->to.name), name);
    f->literal = tc_host_is_address(f->to.name);
}

static void go(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    name_of_synthetic(p, f);
    if (!tc_egress_may_some(&p->config, f->to.name, f->to.port))
        tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_NAMED, NULL);
    else
        tc_egress_seek(p, f);
}

/* ---- SOCKS --------------------------------------------------------------------------------------
 */

static void last_words(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                       const unsigned char *bytes, size_t len)
{
    if (tc_egress_side_send(p, &f->client, (const char *)bytes, len))
        tc_egress_flow_end(p, f);
    else
        tc_egress_flow_close(p, f, true);
}

static void greet_socks4(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    unsigned char answer[TC_SOCKS4_ANSWER_SIZE];
    tc_socks4_refusal(answer);
    last_words(p, f, answer, sizeof(answer));
}

static void socks_request(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    unsigned char answer[TC_SOCKS_ANSWER_SIZE];
    enum tc_socks_code code;
    size_t used = 0;
    enum tc_socks got =
        tc_socks_request((const unsigned char *)f->in.data, f->in.len, &used, &f->to, &code);
    if (got == TC_SOCKS_MORE)
        return;
    f->speaks = TC_SPEAKS_SOCKS;
    if (got == TC_SOCKS_DONE) {
        use(f, used);
        go(p, f);
    } else if (code == TC_SOCKS_DENIED) { /* a host that could be read in two ways */
        f->to.name[0] = '\0';
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, NULL);
    } else {
        tc_socks_answer(code, answer);
        last_words(p, f, answer, sizeof(answer));
    }
}

static void greet_socks(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    static const unsigned char fine[] = {5, 0}, none[] = {5, 0xff};
    size_t used = 0;
    if (!f->greeted) {
        enum tc_socks got = tc_socks_greeting((const unsigned char *)f->in.data, f->in.len, &used);
        if (got == TC_SOCKS_BAD)
            last_words(p, f, none, sizeof(none));
        if (got != TC_SOCKS_DONE)
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

/* ---- HTTP ---------------------------------------------------------------------------------------
 */

static void proxy_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                          const struct tc_http_head *head)
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

static void greet_http(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_http_head head;
    enum tc_http_read got = tc_http_read(f->in.data, f->in.len, &head);
    if (got == TC_HTTP_MORE)
        return;
    f->speaks = TC_SPEAKS_HTTP;
    if (got == TC_HTTP_BAD) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, head.why);
        return;
    }
    if (head.form == TC_HTTP_ORIGIN || head.form == TC_HTTP_ASTERISK) {
        tc_egress_flow_refuse(p, f, TC_EGRESS_NO_PROXY_FORM, NULL);
        return;
    }
    f->to = head.host;
    if (head.form == TC_HTTP_ABSOLUTE) {
        proxy_request(p, f, &head);
        return;
    }
    f->speaks = TC_SPEAKS_CONNECT;
    use(f, head.size);
    go(p, f);
}

void tc_egress_greet(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (!f->in.len)
        return;
    if (f->in.data[0] == 5)
        greet_socks(p, f);
    else if (f->greeted)
        socks_request(p, f);
    else if (f->in.data[0] == 4)
        greet_socks4(p, f);
    else
        greet_http(p, f);
}

/* ---- where it arrived ---------------------------------------------------------------------------
 */

/* Before a packet filter brought it here. */
static int original(int fd, struct sockaddr *to, socklen_t *len)
{
    enum { ORIGINAL = 80 }; /* SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST */
    int domain = 0;
    socklen_t size = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
        return -1;
    return getsockopt(fd, domain == AF_INET6 ? SOL_IPV6 : SOL_IP, ORIGINAL, to, len);
}

static bool read_destination(int fd, enum tc_egress_role role, struct tc_egress_host *ret)
{
    union tc_egress_address to = {0};
    char text[INET6_ADDRSTRLEN];
    socklen_t len = sizeof(to);
    if ((role == TC_EGRESS_REDIRECTED ? original : getsockname)(fd, &to.any, &len) < 0)
        return false;
    int family = to.any.sa_family;
    const void *bytes = &to.v4.sin_addr;
    if (family == AF_INET6) {
        bool mapped = IN6_IS_ADDR_V4MAPPED(&to.v6.sin6_addr);
        bytes = mapped ? (const void *)&to.v6.sin6_addr.s6_addr[12] : &to.v6.sin6_addr;
        family = mapped ? AF_INET : AF_INET6;
    }
    if (!inet_ntop(family, bytes, text, sizeof(text)) ||
        !tc_egress_host_read(text, strlen(text), ret))
        return false;
    ret->port = ntohs(to.any.sa_family == AF_INET ? to.v4.sin_port : to.v6.sin6_port);
    return ret->port != 0;
}

void tc_egress_greet_direct(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool too_many)
{
    f->speaks = TC_SPEAKS_BYTES;
    if (!read_destination(f->client.watch.fd, f->role, &f->to)) {
        tc_egress_flow_close(p, f, true);
    } else if (too_many) {
        name_of_synthetic(p, f);
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_MANY, NULL);
    } else {
        go(p, f);
    }
}
