/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Host names are not accepted, because they may have several addresses. */
bool tc_listen_read(const char *given, union tc_address *ret)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(given, ':');
    char *end = NULL;
    long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;
    bool v6 = given[0] == '[';
    size_t len = colon ? (size_t)(colon - given) : 0;
    if (port < 0 || port > 65535 || *end || len >= sizeof(host) || (v6 && colon[-1] != ']'))
        return false;
    len -= v6 ? 2 : 0;
    memcpy(host, given + v6, len);
    host[len] = '\0';
    memset(ret, 0, sizeof(*ret));
    ret->any.sa_family = v6 ? AF_INET6 : AF_INET;
    if (v6) {
        ret->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1;
    }
    ret->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1;
}

bool tc_listen_is_loopback(const union tc_address *at)
{
    return at->any.sa_family == AF_INET ? ntohl(at->v4.sin_addr.s_addr) >> 24 == 127
                                        : IN6_IS_ADDR_LOOPBACK(&at->v6.sin6_addr);
}

bool tc_listen_is_any(const union tc_address *at)
{
    return at->any.sa_family == AF_INET ? at->v4.sin_addr.s_addr == htonl(INADDR_ANY)
                                        : IN6_IS_ADDR_UNSPECIFIED(&at->v6.sin6_addr);
}

unsigned tc_listen_port(const union tc_address *at)
{
    return ntohs(at->any.sa_family == AF_INET ? at->v4.sin_port : at->v6.sin6_port);
}

void tc_listen_write_host(const union tc_address *at, char out[TC_ADDRESS_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool v6 = at->any.sa_family == AF_INET6;
    (void)inet_ntop(at->any.sa_family,
                    v6 ? (const void *)&at->v6.sin6_addr : (const void *)&at->v4.sin_addr, host,
                    sizeof(host));
    (void)snprintf(out, TC_ADDRESS_MAX, v6 ? "[%s]" : "%s", host);
}

void tc_listen_write(const union tc_address *at, char out[TC_ADDRESS_MAX])
{
    tc_listen_write_host(at, out);
    size_t length = strlen(out);
    (void)snprintf(out + length, TC_ADDRESS_MAX - length, ":%u", tc_listen_port(at));
}

int tc_listen_open(const char *given, const char *example, union tc_address *at,
                   struct tc_failure *failure)
{
    enum { BACKLOG = 1024 };
    const int yes = 1;
    if (!tc_listen_read(given, at)) {
        _autofree_ char *hint =
            tc_cli_format("write --listen 127.0.0.1:%s or --listen '[::1]:%s'", example, example);
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                              "--listen %s is not an address with a port", given);
    }
    socklen_t len = at->any.sa_family == AF_INET ? sizeof(at->v4) : sizeof(at->v6);
    _autofd_ int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, &at->any, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &at->any, &len) < 0)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name another address or port",
                              "cannot listen on %s: %s", given, strerror(errno));
    int ret = fd;
    fd = -1;
    return ret;
}
