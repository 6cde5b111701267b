/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/bridge/sse.c. Input: the size of the pieces, then a server's stream. The messages
 * must not depend on the pieces. */
#include "fuzz.h"

#include <string.h>

#include "bridge/sse.h"

static void take(void *userdata, const char *data, size_t length)
{
    struct tc_buf *out = userdata;
    INVARIANT(length);
    tc_buf_add(out, data, length);
    tc_buf_addc(out, '\n');
}

static void read_pieces(const uint8_t *data, size_t size, size_t step, struct tc_sse *events,
                        struct tc_buf *out)
{
    for (size_t i = 0; i < size; i += step)
        INVARIANT(tc_sse_add(events, (const char *)data + i, step < size - i ? step : size - i,
                             take, out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_sse one = {0}, other = {0};
    struct tc_buf first = TC_BUF_INIT, second = TC_BUF_INIT;
    if (!size)
        return 0;
    read_pieces(data + 1, size - 1, size, &one, &first);
    read_pieces(data + 1, size - 1, 1 + (data[0] & 15), &other, &second);
    INVARIANT(first.len == second.len && strcmp(one.id, other.id) == 0);
    INVARIANT(!first.len || memcmp(first.data, second.data, first.len) == 0);
    INVARIANT(one.retry_ms == other.retry_ms && one.retry_ms <= TC_SSE_RETRY_MAX_MS);
    for (const char *c = one.id; *c; c++)
        INVARIANT(*c >= '!' && *c <= '~');
    tc_buf_done(&first);
    tc_buf_done(&second);
    tc_sse_done(&one);
    tc_sse_done(&other);
    return 0;
}
