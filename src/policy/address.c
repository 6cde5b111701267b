/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/address.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

/* The first matching row decides, so metadata addresses precede the ranges that contain them. */
static const struct {
    uint32_t net;
    unsigned char bits, class;
} v4_rows[] = {
    {0xa9fea9fe, 32, TC_ADDRESS_METADATA},      /* 169.254.169.254 */
    {0xa9feaa02, 32, TC_ADDRESS_METADATA},      /* 169.254.170.2, Amazon ECS */
    {0xa9feaa17, 32, TC_ADDRESS_METADATA},      /* 169.254.170.23, Amazon EKS pods */
    {0x646464c8, 32, TC_ADDRESS_METADATA},      /* 100.100.100.200 */
    {0xc00000c0, 32, TC_ADDRESS_METADATA},      /* 192.0.0.192 */
    {0xa83f8110, 32, TC_ADDRESS_METADATA},      /* 168.63.129.16, in a public range */
    {0x00000000, 8, TC_ADDRESS_RESERVED},       /* "this network": 0.0.0.0 is this host */
    {0x0a000000, 8, TC_ADDRESS_PRIVATE},        /* 10/8 */
    {0x64400000, 10, TC_ADDRESS_PRIVATE},       /* 100.64/10, carrier-grade NAT */
    {0x7f000000, 8, TC_ADDRESS_LOOPBACK},       /* 127/8 */
    {0xa9fe0000, 16, TC_ADDRESS_LINK_LOCAL},    /* 169.254/16 */
    {0xac100000, 12, TC_ADDRESS_PRIVATE},       /* 172.16/12 */
    {0xc0000000, 24, TC_ADDRESS_RESERVED},      /* 192.0.0/24, protocol assignments */
    {0xc0000200, 24, TC_ADDRESS_DOCUMENTATION}, /* 192.0.2/24 */
    {0xc0586300, 24, TC_ADDRESS_RESERVED},      /* 192.88.99/24, 6to4 relays */
    {0xc0a80000, 16, TC_ADDRESS_PRIVATE},       /* 192.168/16 */
    {0xc6120000, 15, TC_ADDRESS_RESERVED},      /* 198.18/15, benchmarks, synthetic addresses */
    {0xc6336400, 24, TC_ADDRESS_DOCUMENTATION}, /* 198.51.100/24 */
    {0xcb007100, 24, TC_ADDRESS_DOCUMENTATION}, /* 203.0.113/24 */
    {0xe0000000, 4, TC_ADDRESS_MULTICAST},      /* 224/4 */
    {0xf0000000, 4, TC_ADDRESS_RESERVED},       /* 240/4, with the broadcast address */
};

enum tc_address_class tc_address_class_v4(struct in_addr address)
{
    uint32_t value = ntohl(address.s_addr);
    for (size_t i = 0; i < TC_COUNT(v4_rows); i++)
        if ((value ^ v4_rows[i].net) >> (32 - v4_rows[i].bits) == 0)
            return v4_rows[i].class;
    return TC_ADDRESS_PUBLIC;
}

static const struct {
    unsigned char net[16], bits, class;
} v6_rows[] = {
    {{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, TC_ADDRESS_METADATA},
    {{0xfd, 0, 0x0e, 0xc2, [15] = 0x23}, 128, TC_ADDRESS_METADATA},
    {{0xfd, 0x20, 0, 0xce, [14] = 0x02, [15] = 0x54}, 128, TC_ADDRESS_METADATA},
    {{[15] = 1}, 128, TC_ADDRESS_LOOPBACK},
    {{0xfc}, 7, TC_ADDRESS_PRIVATE},
    {{0xfe, 0x80}, 10, TC_ADDRESS_LINK_LOCAL},
    {{0xfe, 0xc0}, 10, TC_ADDRESS_PRIVATE}, /* site-local, deprecated */
    {{0xff}, 8, TC_ADDRESS_MULTICAST},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, TC_ADDRESS_DOCUMENTATION},
    {{0x3f, 0xff}, 20, TC_ADDRESS_DOCUMENTATION},
    {{0x20, 0x01}, 23, TC_ADDRESS_RESERVED}, /* protocol assignments: Teredo, benchmarks, ORCHID */
    {{0x20, 0x02}, 16, TC_ADDRESS_RESERVED}, /* 6to4 */
    {{0x20}, 3, TC_ADDRESS_PUBLIC},
};

static bool within(const unsigned char *a, const unsigned char *net, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, net, whole) == 0 && (!rest || (a[whole] ^ net[whole]) >> (8 - rest) == 0);
}

/* No global unicast address outside 2000::/3 is allocated. */
static enum tc_address_class by_prefix(const unsigned char *a)
{
    for (size_t i = 0; i < TC_COUNT(v6_rows); i++)
        if (within(a, v6_rows[i].net, v6_rows[i].bits))
            return v6_rows[i].class;
    return TC_ADDRESS_RESERVED;
}

/* IPv6 prefixes that embed an IPv4 address: its position, and whether an embedded public address
 * makes the IPv6 address public. Obsolete transition mechanisms are never public. */
static const struct {
    unsigned char net[16], bits, at, flip;
    bool public;
} carriers[] = {
    {{[10] = 0xff, [11] = 0xff}, 96, 12, 0, true},   /* mapped: the kernel uses IPv4 */
    {{0}, 96, 12, 0, false},                         /* compatible */
    {{[8] = 0xff, [9] = 0xff}, 96, 12, 0, false},    /* translated (SIIT) */
    {{0, 0x64, 0xff, 0x9b}, 96, 12, 0, true},        /* NAT64 */
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, 12, 0, false}, /* NAT64 with a local-use prefix */
    {{0x20, 0x02}, 16, 2, 0, false},                 /* 6to4 */
    {{0x20, 0x01}, 32, 12, 0xff, false},             /* Teredo: inverted client address */
};

static enum tc_address_class inside(const unsigned char *a, unsigned flip)
{
    unsigned char bytes[4];
    struct in_addr v4;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(a[i] ^ flip);
    memcpy(&v4, bytes, sizeof(v4));
    return tc_address_class_v4(v4);
}

/* ISATAP interface identifiers end in an IPv4 address, under any prefix. */
static bool is_isatap(const unsigned char *a)
{
    return (a[8] & 0xfd) == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe;
}

enum tc_address_class tc_address_class_v6(const struct in6_addr *address)
{
    const unsigned char *a = address->s6_addr;
    enum tc_address_class class = by_prefix(a), inner = TC_ADDRESS_PUBLIC;
    if (class == TC_ADDRESS_LOOPBACK)
        return class;
    for (size_t i = 0; i < TC_COUNT(carriers); i++) {
        if (!within(a, carriers[i].net, carriers[i].bits))
            continue;
        inner = inside(a + carriers[i].at, carriers[i].flip);
        if (inner != TC_ADDRESS_PUBLIC)
            return inner;
        return carriers[i].public ? TC_ADDRESS_PUBLIC : TC_ADDRESS_RESERVED;
    }
    if (is_isatap(a))
        inner = inside(a + 12, 0);
    return class == TC_ADDRESS_PUBLIC ? inner : class;
}

bool tc_address_class_of(const char *text, enum tc_address_class *ret)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, text, &v4) == 1)
        *ret = tc_address_class_v4(v4);
    else if (inet_pton(AF_INET6, text, &v6) == 1)
        *ret = tc_address_class_v6(&v6);
    else
        return false;
    return true;
}
