/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/names.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/strv.h"
#include "policy/endpoint.h"

/* The slot that holds the name, or the free slot for it. */
static uint32_t *slot_of(const struct tc_egress_names *names, const char *name)
{
    size_t at = tc_hash(name) & (names->slot_count - 1);
    while (names->slots[at] &&
           strcmp(names->names[names->slots[at] - TC_SYNTHETIC_FIRST], name) != 0)
        at = (at + 1) & (names->slot_count - 1);
    return &names->slots[at];
}

/* Half of the slots stay free, so that searches are short. */
static bool grow(struct tc_egress_names *names)
{
    enum { AT_FIRST = 64 };
    if (names->slot_count > 2 * names->count)
        return true;
    size_t count = names->slot_count ? 2 * names->slot_count : AT_FIRST;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (size_t i = 0; i < names->count; i++)
        *slot_of(names, names->names[i]) = (uint32_t)(i + TC_SYNTHETIC_FIRST);
    return true;
}

static uint32_t add_name(struct tc_egress_names *names, const char *name)
{
    if (names->count + TC_SYNTHETIC_FIRST >= TC_SYNTHETIC_MAX)
        return 0;
    char **place = TC_PUSH(names->names, names->count);
    if (!place)
        return 0;
    names->count--; /* grow() must not see the new entry yet */
    *place = strdup(name);
    if (!*place || !grow(names)) {
        free(TAKE(*place));
        return 0;
    }
    uint32_t number = (uint32_t)(names->count++ + TC_SYNTHETIC_FIRST);
    *slot_of(names, name) = number;
    return number;
}

bool tc_egress_names_open(struct tc_egress_names *names, const struct tc_egress_config *config)
{
    *names = (struct tc_egress_names){.config = config};
    if (!grow(names))
        return false;
    for (size_t i = 0; i < config->net_count; i++) {
        const char *host = config->net[i].host;
        if (tc_host_is_pattern(host) || tc_host_is_address(host) || *slot_of(names, host))
            continue;
        if (!add_name(names, host))
            return false;
    }
    return true;
}

void tc_egress_names_done(struct tc_egress_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    free(names->slots);
    *names = (struct tc_egress_names){0};
}

/* Does a pattern of the grant cover the name, at any port? */
static bool is_covered(const struct tc_egress_names *names, const char *name)
{
    if (tc_host_is_address(name))
        return false;
    for (size_t i = 0; i < names->config->net_count; i++)
        if (tc_host_covers(names->config->net[i].host, name))
            return true;
    return false;
}

uint32_t tc_egress_names_number(struct tc_egress_names *names, const char *name)
{
    uint32_t number = *slot_of(names, name);
    return number || !is_covered(names, name) ? number : add_name(names, name);
}

const char *tc_egress_names_name(const struct tc_egress_names *names, uint32_t number)
{
    if (number < TC_SYNTHETIC_FIRST || number - TC_SYNTHETIC_FIRST >= names->count)
        return NULL;
    return names->names[number - TC_SYNTHETIC_FIRST];
}

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

const char *tc_egress_address_text(const union tc_inet *address, char out[TC_EGRESS_ADDRESS_MAX])
{
    bool v6 = address->any.sa_family == AF_INET6;
    const void *bytes = v6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr;
    return inet_ntop(v6 ? AF_INET6 : AF_INET, bytes, out, TC_EGRESS_ADDRESS_MAX) ? out : NULL;
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
