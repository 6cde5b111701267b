/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The client of the upstream proxy. It requests an address that was checked here or, where the
 * upstream proxy resolves names itself, the grant's name. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/proxy/upstream.h"
#include "egress/read/stats.h"

enum { HEAD_MAX = 8192 };

static bool send_all(const struct tc_egress_flow *f, const void *bytes, size_t len)
{
    return send(f->server.watch.fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* ---- request ---- */

/* The address or name as text. */
static void host_of(const struct tc_egress_flow *f, char out[TC_EGRESS_HOST_SIZE])
{
    const union tc_inet *to = f->way->to;
    if (!to)
        tc_strcopy(out, TC_EGRESS_HOST_SIZE, f->to.name);
    else if (to->any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &to->v4.sin_addr, out, TC_EGRESS_HOST_SIZE);
    else
        (void)inet_ntop(AF_INET6, &to->v6.sin6_addr, out, TC_EGRESS_HOST_SIZE);
}

/* USER:PASSWORD; NULL: no credentials configured. */
static const char *credentials(const struct tc_egress_config *config)
{
    for (size_t i = 0; i < config->secret_count; i++)
        if (strcmp(config->secrets[i].name, TC_UPSTREAM_SECRET) == 0)
            return config->values.items[i];
    return NULL;
}

static void add_basic(struct tc_buf *out, const char *pair)
{
    enum { PAIR_MAX = 2 * 255 + 1 };
    unsigned char text[(PAIR_MAX + 2) / 3 * 4 + 1];
    size_t len = strnlen(pair, PAIR_MAX);
    (void)EVP_EncodeBlock(text, (const unsigned char *)pair, (int)len);
    tc_buf_addf(out, "Proxy-Authorization: Basic %s\r\n", (const char *)text);
    explicit_bzero(text, sizeof(text));
}

static bool ask_http(const struct tc_egress_flow *f, const char *pair)
{
    char host[TC_EGRESS_HOST_SIZE], target[TC_EGRESS_TARGET_MAX];
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    host_of(f, host);
    tc_egress_target(host, f->to.port, target);
    tc_buf_addf(&out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target);
    if (pair)
        add_basic(&out, pair);
    tc_buf_adds(&out, "\r\n");
    bool fine = !out.failed && send_all(f, out.data, out.len);
    if (pair && out.data)
        explicit_bzero(out.data, out.len);
    return fine;
}

enum { SOCKS_NONE = 0, SOCKS_PAIR = 2 };

static bool ask_socks(const struct tc_egress_flow *f, const char *pair)
{
    const unsigned char greeting[] = {5, 1, pair ? SOCKS_PAIR : SOCKS_NONE};
    return send_all(f, greeting, sizeof(greeting));
}

static bool socks_prove(const struct tc_egress_flow *f, const char *pair)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    size_t user = strcspn(pair, ":"), password = strlen(pair) - user - 1;
    tc_buf_addc(&out, 1);
    tc_buf_addc(&out, (char)user);
    tc_buf_add(&out, pair, user);
    tc_buf_addc(&out, (char)password);
    tc_buf_adds(&out, pair + user + 1);
    bool fine = !out.failed && send_all(f, out.data, out.len);
    if (out.data)
        explicit_bzero(out.data, out.len);
    return fine;
}

static bool socks_connect(const struct tc_egress_flow *f)
{
    enum { V4 = 1, NAME = 3, V6 = 4 };
    const union tc_inet *to = f->way->to;
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
    f->way->agreed = f->way->proved = false;
    const char *pair = credentials(&p->config);
    return p->config.upstream.socks ? ask_socks(f, pair) : ask_http(f, pair);
}

/* ---- response ---- */

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
        return way->seen < HEAD_MAX ? TC_ANSWER_MORE : refused(way, "its response does not end");
    if (memcmp(in, version, sizeof(version) - 1) != 0 || in[STATUS - 1] != ' ')
        return refused(way, "it does not speak HTTP");
    if (in[STATUS] == '2')
        return TC_ANSWER_YES;
    int status = 0;
    for (int i = 0; i < 3; i++)
        status = status * 10 +
                 (in[STATUS + i] >= '0' && in[STATUS + i] <= '9' ? in[STATUS + i] - '0' : 0);
    return answered(way, status);
}

/* The size of a reply, from its first five bytes; 0: invalid. */
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

/* Handles the two-byte replies to the greeting and the credentials, and sends the next message. */
static enum tc_egress_answer agree(struct tc_egress_flow *f, const char *pair)
{
    struct tc_egress_way *way = f->way;
    unsigned char first = way->in[0], second = way->in[1];
    bool choosing = !way->agreed, sent;
    if (way->seen < 2)
        return TC_ANSWER_MORE;
    if (choosing && first != 5)
        return refused(way, "it does not speak SOCKS5");
    if (choosing && second != (pair ? SOCKS_PAIR : SOCKS_NONE))
        return refused(way, pair ? "it does not accept credentials" : "it requires credentials");
    if (!choosing && (first != 1 || second != 0))
        return refused(way, "it rejects the credentials");
    way->agreed = true;
    way->proved = !choosing || !pair;
    way->seen = 0;
    sent = way->proved ? socks_connect(f) : socks_prove(f, pair);
    return sent ? TC_ANSWER_MORE : refused(way, "it closed the connection");
}

static enum tc_egress_answer read_socks(const struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    struct tc_egress_way *way = f->way;
    const unsigned char *in = way->in;
    enum { FIRST = 5 };
    if (!way->proved)
        return agree(f, credentials(&p->config));
    if (way->seen < FIRST)
        return TC_ANSWER_MORE;
    if (in[0] != 5 || in[1] != 0 || !socks_size(in))
        return answered(way, in[1]);
    return way->seen == socks_size(in) ? TC_ANSWER_YES : TC_ANSWER_MORE;
}

/* Reads byte by byte: the bytes after the response are the server's. */
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
            return refused(way, "it closed the connection");
        if (way->seen < sizeof(way->in))
            way->in[way->seen] = byte;
        way->seen++;
        memmove(way->last, way->last + 1, sizeof(way->last) - 1);
        way->last[sizeof(way->last) - 1] = (char)byte;
        answer = p->config.upstream.socks ? read_socks(p, f) : read_http(way);
    }
    return answer;
}
