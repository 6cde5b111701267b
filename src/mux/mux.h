/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Multiplexes connections over one byte stream: those of a tool in a VM without a network, to the
 * egress proxy on the host. Pure: frames in, frames out; no system calls and no waiting. One side
 * opens connections, the other accepts them.
 *
 * Each side treats the other as hostile. A connection has a number below a fixed count, and its
 * sent but not yet taken bytes fit into a window. Each side sends END at most once, CLOSE exactly
 * once, and nothing for the connection after CLOSE. The number is free when both sides have sent
 * CLOSE. Any other frame breaks the protocol and sets `fault`. A side's memory is therefore
 * bounded, whatever the other side sends and however slowly it reads: pending frames are flags of
 * the connections until there is room for them. */
#ifndef TC_MUX_MUX_H
#define TC_MUX_MUX_H

#include "base/frame.h"

enum tc_mux_kind {
    TC_MUX_OPEN,   /* from the opener: a struct tc_mux_to */
    TC_MUX_BYTES,  /* data, within the window */
    TC_MUX_CREDIT, /* the number of bytes taken, 32 bits */
    TC_MUX_END,    /* the sender sends no more bytes */
    TC_MUX_CLOSE,  /* the sender's last frame; one byte, 1: aborted */
    TC_MUX_KINDS
};

enum {
    TC_MUX_WINDOW = 32 << 10, /* most untaken bytes of a connection */
    TC_MUX_PIECE = 16 << 10,  /* most data bytes in a frame */
    TC_MUX_AHEAD = 128 << 10, /* no new frame while this many bytes are unsent */
    TC_MUX_STREAMS_MAX = 768,
};

/* The target of a connection. */
enum tc_mux_what {
    TC_MUX_STREAM = 1, /* TCP */
    TC_MUX_DATAGRAMS,  /* UDP: each datagram follows its length, 16 bits, big-endian */
    TC_MUX_AUTHORITY,  /* the proxy's CA certificate as PEM, then END */
};
struct tc_mux_to {
    uint8_t what;
    uint8_t ipv6;        /* 1: 16 bytes of address; else 4 */
    uint8_t port[2];     /* big-endian, like the address */
    uint8_t address[16]; /* unused bytes are zero */
};

/* Each frame body begins with the connection's number, 32 bits, little-endian. The most bytes of a
 * body, by kind: */
extern const size_t tc_mux_most[TC_MUX_KINDS];

struct tc_mux_stream {
    bool used;
    bool heard_end, heard_close; /* received from the peer */
    bool heard_cut;              /* the peer aborted */
    bool ended, closed, cut;     /* this side's, sent or pending */
    bool said_end, said_close;
    struct tc_mux_to to;
    struct tc_buf in; /* received and not yet taken, from `at` on */
    size_t at;
    uint32_t may_come, may_go; /* what is left of the windows */
    uint32_t owed;             /* bytes taken without a CREDIT frame yet */
};

struct tc_mux {
    bool opens;
    struct tc_mux_stream *streams;
    size_t count, used;
    struct tc_buf out; /* bytes for the peer, from `sent` on */
    size_t sent;
    const char *fault; /* how the peer broke the protocol, as "opened ..."; NULL: no fault */
};

/* False: out of memory. */
bool tc_mux_init(struct tc_mux *mux, bool opens, size_t count);
void tc_mux_done(struct tc_mux *mux);

/* The effect of a frame on a connection. */
enum tc_mux_event { TC_MUX_NOTHING, TC_MUX_OPENED, TC_MUX_CHANGED };
/* Processes a frame from the peer. -1: the peer broke the protocol (fault is set), or out of memory
 * (fault is NULL). */
int tc_mux_take(struct tc_mux *mux, const struct tc_frame *frame, enum tc_mux_event *ret,
                uint32_t *ret_id);

/* Opens a connection. False: all numbers are in use, `out` is full, or this side may not open. */
bool tc_mux_open(struct tc_mux *mux, const struct tc_mux_to *to, uint32_t *ret_id);
/* How many bytes tc_mux_say() accepts now; 0 while the peer's window or `out` is full. */
size_t tc_mux_room(const struct tc_mux *mux, uint32_t id);
/* Sends bytes, at most tc_mux_room(). */
void tc_mux_say(struct tc_mux *mux, uint32_t id, const void *bytes, size_t len);
void tc_mux_end(struct tc_mux *mux, uint32_t id);
/* Closes the connection: received and later bytes are dropped. Later calls have no effect. */
void tc_mux_close(struct tc_mux *mux, uint32_t id, bool cut);

/* The bytes that were received and not yet taken. */
const char *tc_mux_heard(const struct tc_mux *mux, uint32_t id, size_t *ret_len);
void tc_mux_taken(struct tc_mux *mux, uint32_t id, size_t len);

/* Turns pending END, CREDIT and CLOSE into frames while there is room; call it before `out` is
 * sent. */
void tc_mux_settle(struct tc_mux *mux);
/* Removes `len` sent bytes from `out`. */
void tc_mux_gone(struct tc_mux *mux, size_t len);

#endif
