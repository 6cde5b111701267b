/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/socks.h"

#include <arpa/inet.h>
#include <string.h>

enum tc_egress_socks tc_egress_socks_greeting(const unsigned char *bytes, size_t len,
                                              size_t *ret_used)
{
    if (len < 2)
        return TC_EGRESS_SOCKS_MORE;
    size_t methods = bytes[1];
    if (len < 2 + methods)
        return TC_EGRESS_SOCKS_MORE;
    *ret_used = 2 + methods;
    return bytes[0] == 5 && memchr(bytes + 2, 0, methods) ? TC_EGRESS_SOCKS_DONE
                                                          : TC_EGRESS_SOCKS_BAD;
}

enum { HEAD = 4, KIND_V4 = 1, KIND_NAME = 3, KIND_V6 = 4 };

/* The size of the request; 0: unknown address type. */
static size_t request_size(const unsigned char *bytes)
{
    switch (bytes[3]) {
    case KIND_V4:
        return HEAD + 4 + 2;
    case KIND_NAME:
        return HEAD + 1 + (size_t)bytes[4] + 2;
    case KIND_V6:
        return HEAD + 16 + 2;
    default:
        return 0;
    }
}

static bool read_host(const unsigned char *bytes, struct tc_egress_host *ret)
{
    char text[INET6_ADDRSTRLEN];
    if (bytes[3] == KIND_NAME)
        return tc_egress_host_read_dotted((const char *)bytes + HEAD + 1, bytes[4], ret);
    int family = bytes[3] == KIND_V4 ? AF_INET : AF_INET6;
    if (!inet_ntop(family, bytes + HEAD, text, sizeof(text)))
        return false;
    return tc_egress_host_read(text, strlen(text), ret);
}

enum tc_egress_socks tc_egress_socks_request(const unsigned char *bytes, size_t len,
                                             size_t *ret_used, struct tc_egress_host *ret,
                                             enum tc_egress_socks_code *ret_code)
{
    if (len < HEAD + 1)
        return TC_EGRESS_SOCKS_MORE;
    size_t size = request_size(bytes);
    *ret_code = TC_EGRESS_SOCKS_FAILED;
    if (bytes[0] != 5 || bytes[2] != 0)
        return TC_EGRESS_SOCKS_BAD;
    *ret_code = TC_EGRESS_SOCKS_NO_COMMAND;
    if (bytes[1] != 1)
        return TC_EGRESS_SOCKS_BAD;
    *ret_code = TC_EGRESS_SOCKS_NO_ADDRESS;
    if (!size)
        return TC_EGRESS_SOCKS_BAD;
    if (len < size)
        return TC_EGRESS_SOCKS_MORE;
    *ret_used = size;
    *ret_code = TC_EGRESS_SOCKS_DENIED;
    if (!read_host(bytes, ret))
        return TC_EGRESS_SOCKS_BAD;
    ret->port = (uint16_t)(bytes[size - 2] << 8 | bytes[size - 1]);
    return ret->port ? TC_EGRESS_SOCKS_DONE : TC_EGRESS_SOCKS_BAD;
}

void tc_egress_socks_answer(enum tc_egress_socks_code code,
                            unsigned char out[TC_EGRESS_SOCKS_ANSWER_SIZE])
{
    memset(out, 0, TC_EGRESS_SOCKS_ANSWER_SIZE);
    out[0] = 5;
    out[1] = (unsigned char)code;
    out[3] = KIND_V4;
}

void tc_egress_socks4_refusal(unsigned char out[TC_SOCKS4_ANSWER_SIZE])
{
    enum { REJECTED = 0x5b };
    memset(out, 0, TC_SOCKS4_ANSWER_SIZE);
    out[1] = REJECTED;
}
