/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connects the connections of a mux to sockets, the same on both sides. Bytes read from a socket
 * are sent as far as the peer has room, received bytes are written to it, and ends and aborts are
 * passed on. Nothing blocks here: the caller polls the fds from tc_mux_endpoints_ask() and passes
 * the results to tc_mux_endpoints_answer(). */
#ifndef TC_MUX_ENDPOINTS_H
#define TC_MUX_ENDPOINTS_H

#include <poll.h>

#include "mux/mux.h"

struct tc_mux_endpoint {
    int fd; /* -1: none */
    bool connecting;
    bool deaf; /* reading has ended */
    bool mute; /* writing has ended */
};

struct tc_mux_endpoints {
    struct tc_mux mux;
    struct tc_mux_endpoint line[TC_MUX_STREAMS_MAX];
    int port; /* the mux's byte stream; borrowed, non-blocking */
    struct tc_frames frames;
    uint32_t asked[TC_MUX_STREAMS_MAX];
    bool leaving; /* the tool has exited: deliver what it sent, return nothing to it */
    bool ended;   /* the port was closed */
    /* The peer opened a connection: attach a socket, or close it. */
    void (*opened)(struct tc_mux_endpoints *lines, uint32_t id, const struct tc_mux_to *to);
    /* For connections without a socket: the connection changed; a datagram arrived. */
    void (*came)(struct tc_mux_endpoints *lines, uint32_t id);
    void (*datagram)(struct tc_mux_endpoints *lines, uint32_t id, const char *bytes, size_t len);
};

enum { TC_MUX_ENDPOINTS_WAITS = TC_MUX_STREAMS_MAX + 1 };

/* False: out of memory. */
bool tc_mux_endpoints_init(struct tc_mux_endpoints *lines, int port, bool opens);
/* Aborts all open connections. */
void tc_mux_endpoints_done(struct tc_mux_endpoints *lines);

/* Takes the non-blocking fd. */
void tc_mux_endpoints_attach(struct tc_mux_endpoints *lines, uint32_t id, int fd, bool connecting);
/* Closes the connection and its socket. */
void tc_mux_endpoints_close(struct tc_mux_endpoints *lines, uint32_t id, bool cut);
/* Sends a datagram, or drops it if there is no room. */
void tc_mux_endpoints_datagram(struct tc_mux_endpoints *lines, uint32_t id, const char *bytes,
                               size_t len);

/* Fills `polls` and returns how many it used. */
size_t tc_mux_endpoints_ask(struct tc_mux_endpoints *lines,
                            struct pollfd polls[TC_MUX_ENDPOINTS_WAITS]);
/* Processes the results of poll(). Returns how the peer broke the protocol, as "opened ...", or
 * NULL. */
const char *tc_mux_endpoints_answer(struct tc_mux_endpoints *lines, const struct pollfd *polls,
                                    size_t count);
/* Sends pending frames; call it after opening or closing connections, or setting `leaving`. */
void tc_mux_endpoints_push(struct tc_mux_endpoints *lines);

#endif
