/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/gateway/synthetic.h"

#include <arpa/inet.h>
#include <string.h>

#include "policy/endpoint.h"

static const uint32_t range_v4 = 0xc6120000;                        /* 198.18.0.0/15 */
static const unsigned char range_v6[12] = {0x20, 0x01, 0x00, 0x02}; /* below 2001:2::/48 */

struct in_addr tc_synthetic_v4(uint32_t number)
{
    return (struct in_addr){.s_addr = htonl(range_v4 + number)};
}

struct in6_addr tc_synthetic_v6(uint32_t number)
{
    struct in6_addr address;
    uint32_t tail = htonl(number);
    memcpy(address.s6_addr, range_v6, sizeof(range_v6));
    memcpy(address.s6_addr + sizeof(range_v6), &tail, sizeof(tail));
    return address;
}

static uint32_t within(uint32_t number)
{
    return number < TC_SYNTHETIC_MAX ? number : 0;
}

uint32_t tc_synthetic_of_v4(struct in_addr address)
{
    return within(ntohl(address.s_addr) - range_v4);
}

uint32_t tc_synthetic_of_v6(const struct in6_addr *address)
{
    uint32_t tail;
    if (memcmp(address->s6_addr, range_v6, sizeof(range_v6)) != 0)
        return 0;
    memcpy(&tail, address->s6_addr + sizeof(range_v6), sizeof(tail));
    return within(ntohl(tail));
}

/* Is entry i the first one with its name? */
static bool is_first(const struct tc_net_entry *net, size_t i)
{
    if (tc_host_is_pattern(net[i].host) || tc_host_is_address(net[i].host))
        return false;
    for (size_t k = 0; k < i; k++)
        if (tc_streq(net[k].host, net[i].host))
            return false;
    return true;
}

const char *tc_synthetic_name(const struct tc_net_entry *net, size_t count, uint32_t number)
{
    uint32_t next = TC_SYNTHETIC_FIRST;
    for (size_t i = 0; i < count && next < TC_SYNTHETIC_MAX; i++)
        if (is_first(net, i) && next++ == number)
            return net[i].host;
    return NULL;
}

uint32_t tc_synthetic_number(const struct tc_net_entry *net, size_t count, const char *name)
{
    uint32_t next = TC_SYNTHETIC_FIRST;
    for (size_t i = 0; i < count && next < TC_SYNTHETIC_MAX; i++)
        if (is_first(net, i) && (next++, tc_streq(net[i].host, name)))
            return next - 1;
    return 0;
}
