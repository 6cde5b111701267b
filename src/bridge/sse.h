/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A reader of event streams (text/event-stream) from a server that is not trusted. Pure. */
#ifndef TC_BRIDGE_SSE_H
#define TC_BRIDGE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TC_SSE_MAX = 8 << 20, /* bytes of one event */
    TC_SSE_ID_SIZE = 257,
    TC_SSE_RETRY_MIN_MS = 100,
    TC_SSE_RETRY_MS = 1000,
    TC_SSE_RETRY_MAX_MS = 60000,
};

struct tc_sse {
    struct tc_buf line, data;
    size_t begun;            /* lines of `data` in this event */
    bool after_cr;           /* a line feed that follows belongs to the line end */
    bool started;            /* the first line was read */
    bool other;              /* this event is not a message */
    char id[TC_SSE_ID_SIZE]; /* of the last event that has one that a header can carry, or "" */
    int64_t retry_ms;        /* 0: the server has not said */
};

/* Reads the next bytes of a stream, and calls `take` for the data of each message. The data may
 * have line ends. False: an event is larger than TC_SSE_MAX, or memory ran out; the stream cannot
 * be read further. */
bool tc_sse_add(struct tc_sse *events, const char *bytes, size_t length,
                void (*take)(void *userdata, const char *data, size_t length), void *userdata);
/* The stream continues in another response: only its last id and its delay are kept. */
void tc_sse_again(struct tc_sse *events);
void tc_sse_done(struct tc_sse *events);

#endif
