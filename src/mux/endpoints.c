/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mux/endpoints.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LENGTH = 2 }; /* bytes of the length before each datagram */

bool tc_mux_endpoints_init(struct tc_mux_endpoints *l, int port, bool opens)
{
    *l = (struct tc_mux_endpoints){.port = port, .frames = tc_frames_of(tc_mux_most, TC_MUX_KINDS)};
    for (size_t i = 0; i < TC_MUX_STREAMS_MAX; i++)
        l->line[i].fd = -1;
    return tc_mux_init(&l->mux, opens, TC_MUX_STREAMS_MAX);
}

/* After an abort (`cut`), the socket's peer gets a reset. */
static void hang_up(struct tc_mux_endpoint *line, bool cut)
{
    const struct linger at_once = {.l_onoff = 1};
    if (line->fd < 0)
        return;
    if (cut)
        (void)setsockopt(line->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(line->fd);
    line->fd = -1;
}

void tc_mux_endpoints_done(struct tc_mux_endpoints *l)
{
    for (size_t i = 0; i < TC_MUX_STREAMS_MAX; i++)
        hang_up(&l->line[i], true);
    tc_mux_done(&l->mux);
    tc_frames_done(&l->frames);
}

void tc_mux_endpoints_attach(struct tc_mux_endpoints *l, uint32_t id, int fd, bool connecting)
{
    l->line[id] = (struct tc_mux_endpoint){.fd = fd, .connecting = connecting};
}

void tc_mux_endpoints_close(struct tc_mux_endpoints *l, uint32_t id, bool cut)
{
    hang_up(&l->line[id], cut);
    tc_mux_close(&l->mux, id, cut);
}

static bool is_datagrams(const struct tc_mux_endpoints *l, uint32_t id)
{
    return l->mux.streams[id].to.what == TC_MUX_DATAGRAMS;
}

/* Closes the connection when both directions have ended; after the tool's exit, the end of reading
 * is enough. */
static void settle_endpoint(struct tc_mux_endpoints *l, uint32_t id)
{
    const struct tc_mux_endpoint *line = &l->line[id];
    if (line->fd >= 0 && line->deaf && (line->mute || l->leaving))
        tc_mux_endpoints_close(l, id, false);
}

/* ---- from the socket ---- */

void tc_mux_endpoints_datagram(struct tc_mux_endpoints *l, uint32_t id, const char *bytes,
                               size_t len)
{
    char framed[TC_MUX_PIECE];
    if (!len || len > sizeof(framed) - LENGTH || len + LENGTH > tc_mux_room(&l->mux, id))
        return;
    framed[0] = (char)(unsigned char)(len >> 8);
    framed[1] = (char)(unsigned char)len;
    memcpy(framed + LENGTH, bytes, len);
    tc_mux_say(&l->mux, id, framed, len + LENGTH);
}

/* Reads only when the mux has room; until then the kernel queues datagrams up to its limit. A
 * failed recv() reports the ICMP error of an earlier datagram (ECONNREFUSED) once; the connection
 * stays open. */
static void hear_datagram(struct tc_mux_endpoints *l, uint32_t id)
{
    char bytes[TC_MUX_PIECE];
    ssize_t n = recv(l->line[id].fd, bytes, sizeof(bytes), MSG_TRUNC);
    if (n > 0 && (size_t)n < sizeof(bytes))
        tc_mux_endpoints_datagram(l, id, bytes, (size_t)n);
}

static void read_endpoint(struct tc_mux_endpoints *l, uint32_t id)
{
    char bytes[TC_MUX_PIECE];
    size_t room = tc_mux_room(&l->mux, id);
    if (l->line[id].deaf || !room)
        return;
    if (is_datagrams(l, id)) {
        hear_datagram(l, id);
        return;
    }
    ssize_t n = read(l->line[id].fd, bytes, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        tc_mux_endpoints_close(l, id, true);
        return;
    }
    if (n > 0) {
        tc_mux_say(&l->mux, id, bytes, (size_t)n);
        return;
    }
    l->line[id].deaf = true;
    tc_mux_end(&l->mux, id);
    settle_endpoint(l, id);
}

/* ---- to the socket ---- */

/* Returns the bytes taken; 0: the datagram is incomplete; -1: malformed. A datagram is sent whole
 * or lost. */
static ssize_t tell_datagram(struct tc_mux_endpoints *l, uint32_t id, const char *bytes, size_t len)
{
    if (len < LENGTH)
        return 0;
    size_t size = (size_t)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
    if (!size || size > TC_MUX_PIECE - LENGTH)
        return -1;
    if (len < LENGTH + size)
        return 0;
    if (l->line[id].fd >= 0)
        (void)send(l->line[id].fd, bytes + LENGTH, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    else if (l->datagram)
        l->datagram(l, id, bytes + LENGTH, size);
    return (ssize_t)(LENGTH + size);
}

static ssize_t tell_some(struct tc_mux_endpoints *l, uint32_t id, const char *bytes, size_t len)
{
    if (l->leaving) /* the tool has exited: bytes for it are dropped */
        return (ssize_t)len;
    if (is_datagrams(l, id))
        return tell_datagram(l, id, bytes, len);
    ssize_t n = send(l->line[id].fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

/* After all bytes are delivered: passes the peer's END (shutdown) or CLOSE on to the socket. An
 * incomplete datagram is dropped. */
static void end_endpoint(struct tc_mux_endpoints *l, uint32_t id)
{
    struct tc_mux_endpoint *line = &l->line[id];
    const struct tc_mux_stream *s = &l->mux.streams[id];
    if (s->heard_close) {
        tc_mux_endpoints_close(l, id, s->heard_cut);
    } else if (s->heard_end && !line->mute && line->fd >= 0) {
        line->mute = true;
        (void)shutdown(line->fd, SHUT_WR);
        settle_endpoint(l, id);
    }
}

/* Forwards received bytes to the socket, then END, CLOSE or an abort. */
static void forward_state(struct tc_mux_endpoints *l, uint32_t id)
{
    const struct tc_mux_stream *s = &l->mux.streams[id];
    const char *bytes;
    size_t len;
    ssize_t n = 1;
    if (s->closed || l->line[id].connecting)
        return;
    if (l->line[id].fd < 0 && !is_datagrams(l, id)) {
        l->came(l, id);
        return;
    }
    while ((bytes = tc_mux_heard(&l->mux, id, &len)), len && n > 0)
        if ((n = tell_some(l, id, bytes, len)) > 0)
            tc_mux_taken(&l->mux, id, (size_t)n);
    if (n < 0 || (s->heard_close && s->heard_cut))
        tc_mux_endpoints_close(l, id, true);
    else if (!len || is_datagrams(l, id))
        end_endpoint(l, id);
}

/* ---- the byte stream to the peer ---- */

/* After the tool's exit, datagram connections are closed first: UDP has no end of stream. Each
 * write then makes room for pending frames. */
void tc_mux_endpoints_push(struct tc_mux_endpoints *l)
{
    ssize_t n = 1;
    for (uint32_t i = 0; l->leaving && i < l->mux.count; i++) {
        if (l->mux.streams[i].used && is_datagrams(l, i))
            tc_mux_endpoints_close(l, i, false);
        settle_endpoint(l, i);
    }
    while (n > 0 && !l->ended) {
        tc_mux_settle(&l->mux);
        size_t len = l->mux.out.len - l->mux.sent;
        n = len ? write(l->port, l->mux.out.data + l->mux.sent, len) : 0;
        if (n > 0)
            tc_mux_gone(&l->mux, (size_t)n);
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            l->ended = true;
    }
}

static const char *take_frames(struct tc_mux_endpoints *l)
{
    struct tc_frame f;
    enum tc_mux_event event;
    uint32_t id;
    int more;
    while ((more = tc_frames_next(&l->frames, &f)) > 0) {
        if (tc_mux_take(&l->mux, &f, &event, &id) < 0)
            return l->mux.fault ? l->mux.fault
                                : "opened connections for which the host lacks memory";
        if (event == TC_MUX_OPENED) {
            l->line[id] = (struct tc_mux_endpoint){.fd = -1};
            l->opened(l, id, &l->mux.streams[id].to);
        } else if (event == TC_MUX_CHANGED) {
            forward_state(l, id);
        }
    }
    return more < 0 ? "sent a frame with an invalid length" : NULL;
}

static const char *read_port(struct tc_mux_endpoints *l)
{
    ssize_t n = tc_frames_read(&l->frames, l->port);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        l->ended = true;
    return n > 0 ? take_frames(l) : NULL;
}

/* ---- waiting ---- */

static short wanted(const struct tc_mux_endpoints *l, uint32_t id)
{
    size_t len;
    if (l->line[id].connecting)
        return POLLOUT;
    (void)tc_mux_heard(&l->mux, id, &len);
    bool hears = !l->line[id].deaf && tc_mux_room(&l->mux, id);
    return (short)((hears ? POLLIN : 0) | (len ? POLLOUT : 0));
}

size_t tc_mux_endpoints_ask(struct tc_mux_endpoints *l, struct pollfd p[TC_MUX_ENDPOINTS_WAITS])
{
    size_t count = 1;
    bool waits = l->mux.out.len > l->mux.sent;
    p[0] = (struct pollfd){.fd = l->ended ? -1 : l->port,
                           .events = (short)(POLLIN | (waits ? POLLOUT : 0))};
    for (uint32_t i = 0; i < l->mux.count; i++) {
        short events = l->line[i].fd >= 0 ? wanted(l, i) : 0;
        if (!events)
            continue;
        l->asked[count - 1] = i;
        p[count++] = (struct pollfd){.fd = l->line[i].fd, .events = events};
    }
    return count;
}

static void finish_connect(struct tc_mux_endpoints *l, uint32_t id)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(l->line[id].fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error) {
        tc_mux_endpoints_close(l, id, true);
        return;
    }
    l->line[id].connecting = false;
    forward_state(l, id);
}

static void serve_endpoint(struct tc_mux_endpoints *l, uint32_t id, const struct pollfd *p)
{
    if (p->fd != l->line[id].fd || !p->revents)
        return; /* closed earlier in this round */
    if (l->line[id].connecting) {
        finish_connect(l, id);
        return;
    }
    if (p->events & POLLIN && p->revents & ~POLLOUT)
        read_endpoint(l, id);
    if (p->events & POLLOUT && l->line[id].fd >= 0)
        forward_state(l, id);
}

const char *tc_mux_endpoints_answer(struct tc_mux_endpoints *l, const struct pollfd *p,
                                    size_t count)
{
    const char *fault = NULL;
    for (size_t i = 1; i < count; i++)
        serve_endpoint(l, l->asked[i - 1], &p[i]);
    if (p[0].revents & ~POLLOUT)
        fault = read_port(l);
    tc_mux_endpoints_push(l);
    return fault;
}
