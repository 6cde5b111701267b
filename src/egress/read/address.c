/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/strv.h"

bool tc_egress_address_read(const char *text, uint32_t port, union tc_inet *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    ret->v6.sin6_family = AF_INET6;
    ret->v6.sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1;
}

static uint32_t synthetic_number(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return tc_synthetic_of_v4(v4);
    return inet_pton(AF_INET6, host, &v6) == 1 ? tc_synthetic_of_v6(&v6) : 0;
}

void tc_egress_name_meant(const struct tc_egress_names *names, struct tc_egress_host *host)
{
    const char *name = tc_egress_names_name(names, synthetic_number(host->name));
    if (name)
        tc_strcopy(host->name, sizeof(host->name), name);
}

bool tc_egress_address_meant(const struct tc_egress_names *names, const union tc_inet *address,
                             struct tc_egress_host *ret)
{
    char text[INET6_ADDRSTRLEN];
    int family = address->any.sa_family;
    const void *bytes = &address->v4.sin_addr;
    if (family == AF_INET6) {
        bool mapped = IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr);
        bytes = mapped ? (const void *)&address->v6.sin6_addr.s6_addr[12] : &address->v6.sin6_addr;
        family = mapped ? AF_INET : AF_INET6;
    }
    if (!inet_ntop(family, bytes, text, sizeof(text)) ||
        !tc_egress_host_read(text, strlen(text), ret))
        return false;
    ret->port =
        ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
    tc_egress_name_meant(names, ret);
    return ret->port != 0;
}
