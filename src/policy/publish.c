/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/publish.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/strv.h"

/* A port at the start of the text; *ret_end points behind it. False: it is not one. */
static bool read_port(const char *text, unsigned least, uint16_t *ret, const char **ret_end)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long port = digits && digits <= 5 ? strtoul(text, NULL, 10) : 65536;
    if (port > 65535 || port < least)
        return false;
    *ret = (uint16_t)port;
    *ret_end = text + digits;
    return true;
}

static bool read_host(const char *text, size_t len, union tc_publish_address *ret)
{
    char host[INET6_ADDRSTRLEN];
    bool v6 = len > 2 && text[0] == '[' && text[len - 1] == ']';
    if (len >= sizeof(host))
        return false;
    tc_strcopy(host, len + 1 - (v6 ? 2 : 0), text + v6);
    memset(ret, 0, sizeof(*ret));
    ret->any.sa_family = v6 ? AF_INET6 : AF_INET;
    if (v6)
        return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1 &&
               IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr);
    return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 &&
           ntohl(ret->v4.sin_addr.s_addr) >> 24 == 127;
}

static bool read_address(const char *text, struct tc_publish *ret, struct tc_complaint *c)
{
    const char *colon = strrchr(text, ':'), *end = NULL;
    uint16_t port = 0;
    if (tc_startswith(text, TC_PUBLISH_UNIX)) {
        ret->path = text + strlen(TC_PUBLISH_UNIX);
        if (ret->path[0] && strlen(ret->path) <= TC_PUBLISH_PATH_MAX)
            return true;
        tc_complain(c, "write unix:PATH, with a path of at most 200 bytes",
                    "\"%.80s\" does not name a unix socket", text);
        return false;
    }
    if (colon && read_host(text, (size_t)(colon - text), &ret->at) &&
        read_port(colon + 1, 0, &port, &end) && !*end) {
        if (ret->at.any.sa_family == AF_INET6)
            ret->at.v6.sin6_port = htons(port);
        else
            ret->at.v4.sin_port = htons(port);
        return true;
    }
    tc_complain(c,
                "write \"127.0.0.1:0\" (0: any free port), \"[::1]:8080\" or \"unix:PATH\"; no "
                "other address can be published",
                "\"%.80s\" is not a loopback address with a port", text);
    return false;
}

bool tc_publish_read(const char *text, struct tc_publish *ret, struct tc_complaint *c)
{
    const char *end = NULL;
    *ret = (struct tc_publish){0};
    if (!read_port(text, 1, &ret->port, &end) || (*end && *end != ':')) {
        tc_complain(c, "write the port inside, as in 3000, or 3000:127.0.0.1:8080",
                    "\"%.80s\" does not begin with a port from 1 to 65535", text);
        return false;
    }
    return read_address(*end ? end + 1 : TC_PUBLISH_ANYWHERE, ret, c);
}

char *tc_publish_write(const struct tc_publish *publish, const char *path)
{
    char host[INET6_ADDRSTRLEN];
    bool v6 = publish->at.any.sa_family == AF_INET6;
    if (publish->path)
        return tc_format("%u:" TC_PUBLISH_UNIX "%s", (unsigned)publish->port,
                         path ? path : publish->path);
    (void)inet_ntop(publish->at.any.sa_family,
                    v6 ? (const void *)&publish->at.v6.sin6_addr
                       : (const void *)&publish->at.v4.sin_addr,
                    host, sizeof(host));
    return tc_format(v6 ? "%u:[%s]:%u" : "%u:%s:%u", (unsigned)publish->port, host,
                     (unsigned)ntohs(v6 ? publish->at.v6.sin6_port : publish->at.v4.sin_port));
}
