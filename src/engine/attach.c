/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attaches to a container with Docker's protocol, which podman also implements: after the response,
 * the connection carries raw bytes. Bytes written to it are the container's standard input. Bytes
 * read from it are frames of the container's output, each with an 8-byte header of stream and
 * length. The frames' content is passed on unread. */
#include "engine/life.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "engine/engine.h"

enum { HEAD_MAX = 4096, PIECE = 65536, PREFIX = 8, OUT = 1, ERR = 2 };

/* ---- the request ---- */

static int connect_to(int engine)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d", engine);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* Reads only the head, to its empty line: the bytes after it belong to the streams. */
static bool read_head(int fd, int patience_ms, char head[HEAD_MAX])
{
    int64_t until = tc_now_us() + (int64_t)patience_ms * 1000;
    struct pollfd p[] = {{fd, POLLIN, 0}, {TC_ENGINE_CONTROL, POLLIN, 0}};
    size_t n = 0;
    while (n + 1 < HEAD_MAX) {
        int64_t left = (until - tc_now_us()) / 1000;
        if (left <= 0 || poll(p, TC_COUNT(p), (int)left) <= 0 || p[1].revents ||
            read(fd, head + n, 1) != 1)
            return false;
        head[++n] = '\0';
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

static bool is_taken(const char *head)
{
    return strncmp(head, "HTTP/1.1 101 ", 13) == 0 || strncmp(head, "HTTP/1.1 200 ", 13) == 0;
}

int tc_engine_attach(const struct tc_engine_config *config, const char **ret_why)
{
    char head[HEAD_MAX];
    _autofree_ char *request = tc_format(
        "POST /v1.40/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
        "Host: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
        config->name);
    _autofd_ int fd = request ? connect_to(config->socket) : -1;
    *ret_why = "the engine does not respond";
    if (fd < 0 || tc_write_all(fd, request, strlen(request)) < 0 ||
        !read_head(fd, (int)config->patience_ms, head))
        return -1;
    *ret_why = "the engine refuses";
    return is_taken(head) && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? TAKE_FD(fd) : -1;
}

/* ---- the streams ---- */

/* Bytes read from one side and not yet written to the other. */
struct piece {
    char bytes[PIECE];
    size_t len, at;
};

struct relay {
    int streams;
    const struct tc_engine_config *config;
    struct piece in, out;
    unsigned char prefix[PREFIX];
    size_t known;  /* bytes read of `prefix` */
    uint32_t left; /* bytes left of its frame */
    bool ended;
};

static bool would_wait(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void fill_piece(struct relay *r, struct piece *p, int fd, size_t most)
{
    ssize_t n = read(fd, p->bytes, most < PIECE ? most : PIECE);
    r->ended = r->ended || (n <= 0 && !would_wait(n));
    p->len = n > 0 ? (size_t)n : 0;
    p->at = 0;
}

static void drain(struct relay *r, struct piece *p, int fd)
{
    ssize_t n = write(fd, p->bytes + p->at, p->len - p->at);
    r->ended = r->ended || (n < 0 && !would_wait(n));
    p->at += n > 0 ? (size_t)n : 0;
    if (p->at == p->len)
        p->at = p->len = 0;
}

/* {stream, 0, 0, 0, length: four bytes, big-endian} */
static void read_prefix(struct relay *r)
{
    ssize_t n = read(r->streams, r->prefix + r->known, PREFIX - r->known);
    r->ended = r->ended || (n <= 0 && !would_wait(n));
    r->known += n > 0 ? (size_t)n : 0;
    if (r->known < PREFIX)
        return;
    const unsigned char *len = r->prefix + 4;
    r->left = (uint32_t)len[0] << 24 | (uint32_t)len[1] << 16 | (uint32_t)len[2] << 8 | len[3];
    r->ended = r->ended || (r->prefix[0] != OUT && r->prefix[0] != ERR);
    r->known = r->left ? PREFIX : 0;
}

static void read_streams(struct relay *r)
{
    if (!r->left) {
        read_prefix(r);
        return;
    }
    fill_piece(r, &r->out, r->streams, r->left);
    r->left -= (uint32_t)r->out.len;
    r->known = r->left ? PREFIX : 0;
}

/* The last frame's header is still in `prefix`. */
static int out_to(const struct relay *r)
{
    return r->prefix[0] == ERR ? r->config->console : r->config->port;
}

enum { STREAMS, PORT, CONSOLE, CONTROL, WAITS };

/* At most one buffer per direction: the next bytes are read once it is written. */
static void poll_relay(const struct relay *r, struct pollfd p[WAITS])
{
    bool to_port = r->out.len && out_to(r) == r->config->port;
    p[STREAMS] = (struct pollfd){r->streams,
                                 (short)((r->out.len ? 0 : POLLIN) | (r->in.len ? POLLOUT : 0)), 0};
    p[PORT] = (struct pollfd){r->config->port,
                              (short)((r->in.len ? 0 : POLLIN) | (to_port ? POLLOUT : 0)), 0};
    p[CONSOLE] = (struct pollfd){r->out.len && !to_port ? r->config->console : -1, POLLOUT, 0};
    p[CONTROL] = (struct pollfd){TC_ENGINE_CONTROL, POLLIN, 0};
}

static void serve_relay(struct relay *r, const struct pollfd p[WAITS])
{
    if (r->out.len && (p[PORT].revents | p[CONSOLE].revents) & (POLLOUT | POLLERR))
        drain(r, &r->out, out_to(r));
    if (r->in.len && p[STREAMS].revents & (POLLOUT | POLLERR))
        drain(r, &r->in, r->streams);
    if (!r->out.len && p[STREAMS].revents & (POLLIN | POLLHUP | POLLERR))
        read_streams(r);
    if (!r->in.len && p[PORT].revents & (POLLIN | POLLHUP | POLLERR))
        fill_piece(r, &r->in, r->config->port, PIECE);
    r->ended = r->ended || p[CONTROL].revents;
}

void tc_engine_relay(int streams, const struct tc_engine_config *config)
{
    static struct relay r;
    struct pollfd p[WAITS];
    r = (struct relay){.streams = streams, .config = config};
    if (fcntl(config->port, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(config->console, F_SETFL, O_NONBLOCK) < 0)
        return;
    while (!r.ended) {
        poll_relay(&r, p);
        if (poll(p, WAITS, -1) > 0)
            serve_relay(&r, p);
        else if (errno != EINTR)
            return;
    }
}
