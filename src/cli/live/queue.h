/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Packets (wire.h) that the owner of a live session has for a client that has not read them yet. */
#ifndef TC_CLI_LIVE_QUEUE_H
#define TC_CLI_LIVE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct tc_queue {
    char *bytes; /* packets: length of the bytes (size_t), kind, bytes */
    size_t length, sent, room;
    bool failed; /* out of memory */
};

/* Adds the bytes as packets of this kind. */
void tc_queue_add(struct tc_queue *queue, char kind, const char *bytes, size_t length);
/* The number of bytes that were not sent. */
size_t tc_queue_left(const struct tc_queue *queue);
/* Sends what the socket accepts. False: the client is gone. */
bool tc_queue_send(struct tc_queue *queue, int sock);
void tc_queue_done(struct tc_queue *queue);

#endif
