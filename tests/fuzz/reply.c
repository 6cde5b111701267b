/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/egress/read/reply.c and fields.c. Input: what a server sends; the first byte chooses
 * the request. The client gets the same, however the bytes arrive, and a response after which its
 * connection serves another request ends where its framing says. */
#include "fuzz.h"

#include <string.h>

#include "egress/read/reply.h"

static const char *const requests[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
};

struct relayed {
    struct tc_egress_reply reply;
    struct tc_buf held, text;
};

static void take_bytes(struct relayed *r, const char *bytes, size_t len)
{
    enum tc_egress_http_read got = TC_EGRESS_HTTP_DONE;
    size_t size = 0;
    tc_buf_add(&r->held, bytes, len);
    while (r->held.len && r->reply.stage == TC_REPLY_HEAD && got == TC_EGRESS_HTTP_DONE) {
        got = tc_egress_reply_head(&r->reply, r->held.data, r->held.len, true, &r->text, &size);
        if (got != TC_EGRESS_HTTP_DONE)
            break;
        INVARIANT(size && size <= r->held.len);
        memmove(r->held.data, r->held.data + size, r->held.len - size);
        r->held.len -= size;
    }
    INVARIANT((got == TC_EGRESS_HTTP_BAD) <= (r->reply.stage == TC_REPLY_OPEN));
    if (r->reply.stage == TC_REPLY_HEAD)
        return;
    size_t n = tc_egress_reply_body(&r->reply, r->held.data, r->held.len);
    INVARIANT(n <= r->held.len);
    tc_buf_add(&r->text, r->held.data, n);
    r->held.len = 0;
}

static struct relayed begin(unsigned which)
{
    static struct tc_egress_http_head head;
    struct relayed r = {.held = TC_BUF_INIT, .text = TC_BUF_INIT};
    const char *request = requests[which % TC_COUNT(requests)];
    INVARIANT(tc_egress_http_read(request, strlen(request), &head) == TC_EGRESS_HTTP_DONE);
    tc_egress_reply_start(&r.reply, &head, which & 64);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > TC_EGRESS_HTTP_HEAD_MAX)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct relayed whole = begin(data[0]), parts = begin(data[0]);
    take_bytes(&whole, bytes, size - 1);
    for (size_t i = 0; i + 1 < size; i++)
        take_bytes(&parts, bytes + i, 1);
    INVARIANT(whole.reply.stage == parts.reply.stage && whole.text.len == parts.text.len);
    INVARIANT(!whole.text.len || memcmp(whole.text.data, parts.text.data, whole.text.len) == 0);
    INVARIANT(!whole.reply.server_stays || whole.reply.client_stays);
    INVARIANT(!whole.reply.client_stays || whole.reply.stage == TC_REPLY_BODY ||
              whole.reply.stage == TC_REPLY_DONE);
    tc_buf_done(&whole.held);
    tc_buf_done(&whole.text);
    tc_buf_done(&parts.held);
    tc_buf_done(&parts.text);
    return 0;
}
