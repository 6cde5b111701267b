/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Many connections by one stream of bytes: those of a tool in a machine without a network, on their
 * way to the proxy outside. Pure: frames go in, frames come out, and nothing is opened, read or
 * waited for. One side opens connections, the other takes them.
 *
 * Each side takes the other for hostile. A connection has a number below a fixed count; the bytes
 * of it that were sent and not yet taken are at most a window; each side says the end of what it
 * sends at most once (END), and its last word exactly once (CLOSE), after which it says nothing of
 * the connection. The number is free when both have said that. All else breaks the rules, and the
 * fault says which. What a side holds is bounded by this, whatever the other says and however
 * slowly it reads: what is owed to it waits as marks at the connections, not as frames. */
#ifndef TC_MUX_MUX_H
#define TC_MUX_MUX_H

#include "base/frame.h"

enum tc_mux_kind {
    TC_MUX_OPEN,   /* from who opens: a struct tc_mux_to */
    TC_MUX_BYTES,  /* within the window */
    TC_MUX_CREDIT, /* so many bytes were taken, as a number of 32 bits */
    TC_MUX_END,    /* there are no more bytes */
    TC_MUX_CLOSE,  /* the last word; a byte: 1 when it ends out of order */
    TC_MUX_KINDS
};

enum {
    TC_MUX_WINDOW = 32 << 10, /* bytes of a connection on their way */
    TC_MUX_PIECE = 16 << 10,  /* of one frame */
    TC_MUX_AHEAD = 128 << 10, /* no frame is made while more than this waits to be sent */
    TC_MUX_STREAMS_MAX = 768,
};

/* Where a connection leads. */
enum tc_mux_what {
    TC_MUX_STREAM = 1, /* TCP */
    TC_MUX_DATAGRAMS,  /* UDP: each one as a length of 16 bits and so many bytes */
    TC_MUX_AUTHORITY,  /* the certificate of the proxy's authority, as text; then the end */
};
struct tc_mux_to {
    uint8_t what;
    uint8_t ipv6;        /* 1: the address has sixteen bytes, else four */
    uint8_t port[2];     /* the most significant byte first, as the address has it */
    uint8_t address[16]; /* what is not of it is zero */
};

/* The body of each frame begins with this number, the least byte first. What each kind may be long:
 */
extern const size_t tc_mux_most[TC_MUX_KINDS];

struct tc_mux_stream {
    bool used;
    bool heard_end, heard_close; /* from the other side */
    bool heard_cut;              /* its end was out of order */
    bool ended, closed, cut;     /* the same of ours, said or owed */
    bool said_end, said_close;
    struct tc_mux_to to;
    struct tc_buf in; /* what has come and was not taken, from `at` on */
    size_t at;
    uint32_t may_come, may_go; /* bytes of the windows */
    uint32_t owed;             /* bytes that were taken and not yet said */
};

struct tc_mux {
    bool opens;
    struct tc_mux_stream *streams;
    size_t count, used;
    struct tc_buf out; /* for the other side, from `sent` on */
    size_t sent;
    const char *fault; /* what the other side did, as "opens ..."; NULL: nothing */
};

/* False: out of memory. */
bool tc_mux_init(struct tc_mux *mux, bool opens, size_t count);
void tc_mux_done(struct tc_mux *mux);

/* What a frame did to a connection. */
enum tc_mux_event { TC_MUX_NOTHING, TC_MUX_OPENED, TC_MUX_CHANGED };
/* Takes a frame of the other side. -1: it broke the rules (fault), or memory is out (fault NULL).
 */
int tc_mux_take(struct tc_mux *mux, const struct tc_frame *frame, enum tc_mux_event *ret,
                uint32_t *ret_id);

/* A new one. False: all are in use, or it is not ours to open. */
bool tc_mux_open(struct tc_mux *mux, const struct tc_mux_to *to, uint32_t *ret_id);
/* How many bytes can be said now; 0 where the other side, or what waits to be sent, has no room. */
size_t tc_mux_room(const struct tc_mux *mux, uint32_t id);
/* No more than there is room for, and no more than a piece. */
void tc_mux_say(struct tc_mux *mux, uint32_t id, const void *bytes, size_t len);
void tc_mux_end(struct tc_mux *mux, uint32_t id);
/* The last word, once: what has come is dropped, and what comes from now on. */
void tc_mux_close(struct tc_mux *mux, uint32_t id, bool cut);

/* What has come and was not taken. */
const char *tc_mux_heard(const struct tc_mux *mux, uint32_t id, size_t *ret_len);
void tc_mux_taken(struct tc_mux *mux, uint32_t id, size_t len);

/* Makes frames of what is owed, as far as there is room; before `out` is looked at. */
void tc_mux_settle(struct tc_mux *mux);
/* So many bytes of `out` have gone. */
void tc_mux_gone(struct tc_mux *mux, size_t len);

#endif
