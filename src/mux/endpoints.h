/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sockets at the ends of a mux's connections, the same on both sides: what is read of one goes to
 * the other side as far as that has room, what comes is written, an end goes on as an end, and what
 * broke off breaks off. Nothing waits here; whoever waits asks for what, and hands in the answer.
 */
#ifndef TC_MUX_ENDPOINTS_H
#define TC_MUX_ENDPOINTS_H

#include <poll.h>

#include "mux/mux.h"

struct tc_mux_endpoint {
    int fd; /* -1: none */
    bool connecting;
    bool deaf; /* nothing more is read of it */
    bool mute; /* nothing more is written to it */
};

struct tc_mux_endpoints {
    struct tc_mux mux;
    struct tc_mux_endpoint line[TC_MUX_STREAMS_MAX];
    int port; /* the stream of bytes; borrowed, does not block */
    struct tc_frames frames;
    uint32_t asked[TC_MUX_STREAMS_MAX];
    bool leaving; /* who sent it has gone: what it sent is delivered, and nothing comes back */
    bool ended;   /* the port has */
    /* A connection was opened by the other side: attaches a socket, or closes it. */
    void (*opened)(struct tc_mux_endpoints *lines, uint32_t id, const struct tc_mux_to *to);
    /* Without a socket: something has changed of a connection; a datagram has come by one. */
    void (*came)(struct tc_mux_endpoints *lines, uint32_t id);
    void (*datagram)(struct tc_mux_endpoints *lines, uint32_t id, const char *bytes, size_t len);
};

enum { TC_MUX_ENDPOINTS_WAITS = TC_MUX_STREAMS_MAX + 1 };

/* False: out of memory. */
bool tc_mux_endpoints_init(struct tc_mux_endpoints *lines, int port, bool opens);
/* What is open breaks off. */
void tc_mux_endpoints_done(struct tc_mux_endpoints *lines);

/* Takes the descriptor, which does not block. */
void tc_mux_endpoints_attach(struct tc_mux_endpoints *lines, uint32_t id, int fd, bool connecting);
/* It ends, and the socket with it. */
void tc_mux_endpoints_close(struct tc_mux_endpoints *lines, uint32_t id, bool cut);
/* One that cannot go now is lost, as UDP may be. */
void tc_mux_endpoints_datagram(struct tc_mux_endpoints *lines, uint32_t id, const char *bytes,
                               size_t len);

/* What is waited for: how many. */
size_t tc_mux_endpoints_ask(struct tc_mux_endpoints *lines,
                            struct pollfd polls[TC_MUX_ENDPOINTS_WAITS]);
/* What came of it. Why it cannot go on, as "opens ..."; NULL: it goes on. */
const char *tc_mux_endpoints_answer(struct tc_mux_endpoints *lines, const struct pollfd *polls,
                                    size_t count);
/* After connections were opened, or closed, or have to leave. */
void tc_mux_endpoints_push(struct tc_mux_endpoints *lines);

#endif
