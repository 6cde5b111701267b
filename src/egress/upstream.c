/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The site's own proxy: what it is asked for, and what it answers. It is told an address that was
 * judged here, or where it looks names up itself the name of the grant. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/flow.h"
#include "egress/said.h"
#include "egress/upstream.h"

enum { HEAD_MAX = 8192 };

static bool send_all(const struct tc_egress_flow *f, const void *bytes, size_t len)
{
    return send(f->server.watch.fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* ---- what it is asked ---------------------------------------------------------------------------
 */

/* As text: the address, or the name. */
static void host_of(const struct tc_egress_flow *f, char out[TC_EGRESS_HOST_SIZE])
{
    const union tc_egress_address *to = f->way->to;
    if (!to)
        tc_strcopy(out, TC_EGRESS_HOST_SIZE, f->to.name);
    else if (to->any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &to->v4.sin_addr, out, TC_EGRESS_HOST_SIZE);
    else
        (void)inet_ntop(AF_INET6, &to->v6.sin6_addr, out, TC_EGRESS_HOST_SIZE);
}

static bool ask_http(const struct tc_egress_flow *f)
{
    char host[TC_EGRESS_HOST_SIZE], target[TC_EGRESS_TARGET_MAX];
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    host_of(f, host);
    tc_egress_target(host, f->to.port, target);
    tc_buf_addf(&out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
    return !out.failed && send_all(f, out.data, out.len);
}

static bool ask_socks(const struct tc_egress_flow *f)
{
    static const unsigned char greeting[] = {5, 1, 0};
    return send_all(f, greeting, sizeof(greeting));
}

static bool socks_connect(const struct tc_egress_flow *f)
{
    enum { V4 = 1, NAME = 3, V6 = 4 };
    const union tc_egress_address *to = f->way->to;
    char name[TC_EGRESS_HOST_SIZE];
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const char port[] = {(char)(f->to.port >> 8), (char)(f->to.port & 0xff)};
    tc_buf_add(&out, "\5\1\0", 3);
    if (!to) {
        host_of(f, name);
        tc_buf_addc(&out, NAME);
        tc_buf_addc(&out, (char)strlen(name));
        tc_buf_adds(&out, name);
    } else if (to->any.sa_family == AF_INET) {
        tc_buf_addc(&out, V4);
        tc_buf_add(&out, (const char *)&to->v4.sin_addr, sizeof(to->v4.sin_addr));
    } else {
        tc_buf_addc(&out, V6);
        tc_buf_add(&out, (const char *)&to->v6.sin6_addr, sizeof(to->v6.sin6_addr));
    }
    tc_buf_add(&out, port, sizeof(port));
    return !out.failed && send_all(f, out.data, out.len);
}

bool tc_egress_upstream_ask(const struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->way->asked = true;
    f->way->seen = 0;
    f->way->why[0] = '\0';
    f->way->agreed = false;
    return p->config.upstream.socks ? ask_socks(f) : ask_http(f);
}

/* ---- what it answers ----------------------------------------------------------------------------
 */

static enum tc_egress_answer refused(struct tc_egress_way *way, const char *why)
{
    tc_strcopy(way->why, sizeof(way->why), why);
    return TC_ANSWER_NO;
}

static enum tc_egress_answer answered(struct tc_egress_way *way, int number)
{
    (void)snprintf(way->why, sizeof(way->why), "it answered %d", number);
    return TC_ANSWER_NO;
}

static enum tc_egress_answer read_http(struct tc_egress_way *way)
{
    static const char version[] = "HTTP/1.";
    enum { STATUS = sizeof(version) + 1 };
    const unsigned char *in = way->in;
    if (way->seen < 4 || memcmp(way->last, "\r\n\r\n", 4) != 0)
        return way->seen < HEAD_MAX ? TC_ANSWER_MORE : refused(way, "its answer has no end");
    if (memcmp(in, version, sizeof(version) - 1) != 0 || in[STATUS - 1] != ' ')
        return refused(way, "it speaks no HTTP");
    if (in[STATUS] == '2')
        return TC_ANSWER_YES;
    int status = 0;
    for (int i = 0; i < 3; i++)
        status = status * 10 +
                 (in[STATUS + i] >= '0' && in[STATUS + i] <= '9' ? in[STATUS + i] - '0' : 0);
    return answered(way, status);
}

/* How long an answer is, from its first five bytes; 0: it is none. */
static size_t socks_size(const unsigned char *in)
{
    enum { V4 = 1, NAME = 3, V6 = 4, HEAD = 4, PORT = 2 };
    switch (in[3]) {
    case V4:
        return HEAD + 4 + PORT;
    case NAME:
        return HEAD + 1 + (size_t)in[4] + PORT;
    case V6:
        return HEAD + 16 + PORT;
    default:
        return 0;
    }
}

static enum tc_egress_answer read_socks(struct tc_egress_flow *f)
{
    struct tc_egress_way *way = f->way;
    const unsigned char *in = way->in;
    enum { METHOD = 2, FIRST = 5 };
    if (!way->agreed) {
        if (way->seen < METHOD)
            return TC_ANSWER_MORE;
        if (in[0] != 5 || in[1] != 0)
            return refused(way, in[0] != 5 ? "it speaks no SOCKS5" : "it wants credentials");
        way->agreed = true;
        way->seen = 0;
        return socks_connect(f) ? TC_ANSWER_MORE : refused(way, "it broke off");
    }
    if (way->seen < FIRST)
        return TC_ANSWER_MORE;
    if (in[0] != 5 || in[1] != 0 || !socks_size(in))
        return answered(way, in[1]);
    return way->seen == socks_size(in) ? TC_ANSWER_YES : TC_ANSWER_MORE;
}

/* Not a byte more than its answer: what is behind that is the server's. */
enum tc_egress_answer tc_egress_upstream_read(const struct tc_egress_proxy *p,
                                              struct tc_egress_flow *f)
{
    struct tc_egress_way *way = f->way;
    enum tc_egress_answer answer = TC_ANSWER_MORE;
    while (answer == TC_ANSWER_MORE) {
        unsigned char byte;
        ssize_t n = recv(f->server.watch.fd, &byte, 1, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return TC_ANSWER_MORE;
        if (n <= 0)
            return refused(way, "it broke off");
        if (way->seen < sizeof(way->in))
            way->in[way->seen] = byte;
        way->seen++;
        memmove(way->last, way->last + 1, sizeof(way->last) - 1);
        way->last[sizeof(way->last) - 1] = (char)byte;
        answer = p->config.upstream.socks ? read_socks(f) : read_http(way);
    }
    return answer;
}
