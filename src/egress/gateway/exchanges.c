/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The frames of recorded requests. Pure. */
#include "egress/exchanges.h"

#include <string.h>

void tc_exchange_put(struct tc_buf *to, enum tc_exchange_kind kind, uint32_t number,
                     const void *bytes, size_t length)
{
    const struct tc_exchange_head head = {
        .kind = kind, .number = number, .length = (uint32_t)length};
    to->failed |= length > UINT32_MAX;
    tc_buf_add(to, &head, sizeof(head));
    tc_buf_add(to, bytes, length);
}

void tc_exchange_put_request(struct tc_buf *to, uint32_t number,
                             const struct tc_exchange_request *request)
{
    _autobuf_ struct tc_buf content = TC_BUF_INIT;
    const struct tc_exchange_to where = {.port = request->port};
    tc_buf_add(&content, &where, sizeof(where));
    tc_buf_add(&content, request->method, strlen(request->method) + 1);
    tc_buf_add(&content, request->host, strlen(request->host) + 1);
    tc_buf_add(&content, request->path, strlen(request->path) + 1);
    to->failed |= content.failed;
    tc_exchange_put(to, TC_EXCHANGE_REQUEST, number, content.data, content.len);
}

int tc_exchange_next(const char *frames, size_t size, size_t *at, struct tc_exchange_head *ret,
                     const char **ret_bytes)
{
    if (*at == size)
        return 0;
    if (*at > size || size - *at < sizeof(*ret))
        return -1;
    memcpy(ret, frames + *at, sizeof(*ret));
    if (ret->kind < TC_EXCHANGE_REQUEST || ret->kind > TC_EXCHANGE_END ||
        ret->number >= TC_EXCHANGES_MAX || ret->length > size - *at - sizeof(*ret))
        return -1;
    *ret_bytes = frames + *at + sizeof(*ret);
    *at += sizeof(*ret) + ret->length;
    return 1;
}

/* The next text of the content, printable and not empty. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));
    if (!nul || nul == text)
        return NULL;
    for (const char *c = text; c < nul; c++)
        if (*c <= ' ' || *c == 0x7f)
            return NULL;
    *at = nul + 1;
    return text;
}

bool tc_exchange_read_request(const char *bytes, size_t length, struct tc_exchange_request *ret)
{
    struct tc_exchange_to where;
    const char *end = bytes + length, *at = bytes + sizeof(where);
    if (length < sizeof(where))
        return false;
    memcpy(&where, bytes, sizeof(where));
    *ret = (struct tc_exchange_request){.port = where.port};
    return where.port && where.port <= UINT16_MAX && (ret->method = next_text(&at, end)) &&
           (ret->host = next_text(&at, end)) && (ret->path = next_text(&at, end)) && at == end;
}

bool tc_exchange_read_end(const char *bytes, size_t length, struct tc_exchange_end *ret)
{
    enum { PREFIX = 7 };
    if (length != sizeof(*ret))
        return false;
    memcpy(ret, bytes, sizeof(*ret));
    return ret->keeps <= 1 && memcmp(ret->body, "sha256:", PREFIX) == 0 &&
           ret->body[TC_DIGEST_SIZE - 1] == '\0' &&
           strspn(ret->body + PREFIX, "0123456789abcdef") == TC_DIGEST_SIZE - 1 - PREFIX;
}
