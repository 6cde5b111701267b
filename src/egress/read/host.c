/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/host.h"

#include <string.h>

#include "base/strv.h"
#include "policy/endpoint.h"

bool tc_egress_host_read(const char *text, size_t len, struct tc_egress_host *ret)
{
    struct tc_complaint c;
    _autofree_ char *host = NULL;
    if (memchr(text, '*', len) || tc_host_read(text, len, &host, &c))
        return false;
    tc_strcopy(ret->name, sizeof(ret->name), host);
    ret->port = 0;
    return true;
}

/* Some readers take "127.0.0.1." for a name. */
bool tc_egress_host_read_dotted(const char *text, size_t len, struct tc_egress_host *ret)
{
    bool dot = len > 1 && text[len - 1] == '.';
    return tc_egress_host_read(text, len - dot, ret) && !(dot && tc_host_is_address(ret->name));
}

static bool read_port(const char *text, size_t len, uint16_t *ret)
{
    unsigned port = 0;
    if (len < 1 || len > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    *ret = (uint16_t)port;
    return port <= 65535;
}

bool tc_egress_authority_read(const char *text, size_t len, struct tc_egress_host *ret)
{
    const char *end = text + len, *colon;
    uint16_t port = 0;
    bool fine;
    if (len && text[0] == '[') {
        const char *close = memchr(text, ']', len);
        if (!close || !memchr(text, ':', (size_t)(close - text)))
            return false;
        fine = tc_egress_host_read(text + 1, (size_t)(close - text - 1), ret);
        colon = close + 1;
    } else {
        colon = memchr(text, ':', len);
        colon = colon ? colon : end;
        fine = tc_egress_host_read_dotted(text, (size_t)(colon - text), ret);
    }
    if (!fine || (colon < end && *colon != ':'))
        return false;
    if (colon < end && !read_port(colon + 1, (size_t)(end - colon - 1), &port))
        return false;
    ret->port = port;
    return true;
}
