/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/call/dispatch.c: what the library reads on a call's socket. Input: packets, each
 * {flags, length, bytes}; FLAG_FILE puts the bytes into a sealed memory file that goes with a DONE
 * message, FLAG_RAW sends them as they are, else they are output of stream (flags & 3). However the
 * helper behaves, the call gets exactly one result when its socket ends, and the output callback
 * sees the bytes of streams 1 and 2 in order. */
#include "result.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/call.h"

enum { FLAG_FILE = 4, FLAG_RAW = 8, PACKETS_MAX = 32 };

struct seen {
    size_t bytes, expected;
    bool ended; /* a message was sent that must end the call */
};

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct seen *seen = userdata;
    INVARIANT(stream == 1 || stream == 2);
    INVARIANT(length == 0 || bytes);
    seen->bytes += length;
}

static void send_file(int sock, const uint8_t *bytes, size_t length, struct seen *seen)
{
    const struct tc_message done = {.kind = TC_MESSAGE_DONE};
    _autofd_ int fd = tc_memfd("outcome", (const char *)bytes, length);
    INVARIANT(fd >= 0 && tc_send(sock, &done, sizeof(done), &fd, 1) == 0);
    seen->ended = true;
}

static void send_output(int sock, int stream, const uint8_t *bytes, size_t length,
                        struct seen *seen)
{
    union {
        struct tc_message message;
        char room[sizeof(struct tc_message) + 256];
    } u = {.message = {.kind = TC_MESSAGE_OUTPUT, .stream = stream}};
    memcpy(u.message.bytes, bytes, length);
    INVARIANT(tc_send(sock, &u, sizeof(u.message) + length, NULL, 0) == 0);
    if (!seen->ended && (stream == 1 || stream == 2))
        seen->expected += length;
}

/* What a raw packet does depends on its head, so it ends the counting. */
static void send_packets(int sock, const uint8_t *data, size_t size, struct seen *seen, bool *raw)
{
    for (size_t i = 0; size >= 2 && i < PACKETS_MAX; i++) {
        unsigned flags = data[0];
        size_t length = data[1] * (flags & FLAG_FILE ? 16u : 1u);
        data += 2;
        size -= 2;
        length = length < size ? length : size;
        if (flags & FLAG_FILE) {
            send_file(sock, data, length, seen);
        } else if (flags & FLAG_RAW) {
            INVARIANT(tc_send(sock, data, length, NULL, 0) == 0);
            *raw = true;
        } else {
            send_output(sock, (int)(flags & 3), data, length, seen);
        }
        data += length;
        size -= length;
    }
}

/* A call that believes to be running, on a socket of ours. */
static struct toolcage_call *running(struct seen *seen, int *ret_helper)
{
    static struct toolcage_policy *policy;
    static struct toolcage_engine *engine;
    struct toolcage_call *call = NULL;
    if (!engine) {
        int pair[2];
        INVARIANT(tc_policy_new_default(&policy, NULL) == 0);
        INVARIANT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        INVARIANT(tc_engine_adopt(pair[0], &engine, NULL) == 0);
    }
    INVARIANT(tc_call_new(engine, policy, NULL, &call, NULL) == 0);
    INVARIANT(tc_call_set_output(call, on_output, seen, NULL) == 0);
    call->state = TC_CALL_RUNNING;
    *ret_helper = TAKE_FD(call->peer);
    return call;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    bool raw = false;
    int helper;
    struct toolcage_call *call = running(&seen, &helper);
    send_packets(helper, data, size, &seen, &raw);
    INVARIANT(tc_call_dispatch(call, NULL) == (seen.ended || (raw && call->result) ? 1 : 0));
    (void)close(helper);
    INVARIANT(tc_call_dispatch(call, NULL) == 1 && call->result);
    INVARIANT(raw || seen.bytes == seen.expected);
    json_decref(check_result(call->result));
    INVARIANT(tc_call_dispatch(call, NULL) == 1);
    tc_call_unref(call);
    return 0;
}
