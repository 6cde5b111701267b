/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/wire.h"

enum { PIECE = 32 << 10 };

static void forget_sent(struct tc_queue *q)
{
    if (q->sent <= q->length / 2)
        return;
    memmove(q->bytes, q->bytes + q->sent, q->length - q->sent);
    q->length -= q->sent;
    q->sent = 0;
}

static void add_packet(struct tc_queue *q, char kind, const char *bytes, size_t length)
{
    forget_sent(q);
    size_t need = q->length + sizeof(length) + 1 + length;
    if (need > q->room) {
        size_t room = 2 * need;
        char *more = realloc(q->bytes, room);
        q->failed = q->failed || !more;
        if (!more)
            return;
        q->bytes = more;
        q->room = room;
    }
    memcpy(q->bytes + q->length, &length, sizeof(length));
    q->bytes[q->length + sizeof(length)] = kind;
    memcpy(q->bytes + q->length + sizeof(length) + 1, bytes, length);
    q->length = need;
}

void tc_queue_add(struct tc_queue *q, char kind, const char *bytes, size_t length)
{
    for (size_t n; length; bytes += n, length -= n) {
        n = length < PIECE ? length : PIECE;
        add_packet(q, kind, bytes, n);
    }
}

size_t tc_queue_left(const struct tc_queue *q)
{
    return q->length - q->sent;
}

bool tc_queue_send(struct tc_queue *q, int sock)
{
    while (q->sent < q->length) {
        size_t length;
        const char *at = q->bytes + q->sent;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        if (tc_wire_send(sock, *at, at + 1, length, -1, true))
            return errno == EAGAIN;
        q->sent += sizeof(length) + 1 + length;
    }
    q->sent = q->length = 0;
    return !q->failed;
}

void tc_queue_done(struct tc_queue *q)
{
    free(q->bytes);
    *q = (struct tc_queue){0};
}
