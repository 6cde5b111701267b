/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/meant.h"

#include <string.h>

socklen_t tc_inet_size(const union tc_inet *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

/* The socket's family, bound and connected or not. */
static int family_of(int fd)
{
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ? -1 : domain;
}

/* The destination before a packet filter redirected the connection. */
static int original(int fd, struct sockaddr *to, socklen_t *len)
{
    enum { ORIGINAL = 80 }; /* SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST */
    int family = family_of(fd);
    if (family < 0)
        return -1;
    return getsockopt(fd, family == AF_INET6 ? SOL_IPV6 : SOL_IP, ORIGINAL, to, len);
}

bool tc_meant_connection(int fd, bool redirected, union tc_inet *ret)
{
    socklen_t len = sizeof(*ret);
    memset(ret, 0, sizeof(*ret));
    return (redirected ? original : getsockname)(fd, &ret->any, &len) == 0;
}

bool tc_meant_watch(int fd)
{
    const int yes = 1;
    int family = family_of(fd);
    if (family == AF_INET6)
        return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof(yes)) == 0 &&
               setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes)) == 0;
    return family == AF_INET && setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes)) == 0;
}

/* The address has the listener's family; the port is the listener's. */
bool tc_meant_datagram(int fd, struct msghdr *message, union tc_inet *ret)
{
    socklen_t len = sizeof(*ret);
    memset(ret, 0, sizeof(*ret));
    if (getsockname(fd, &ret->any, &len) < 0)
        return false;
    int family = ret->any.sa_family;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        struct in6_pktinfo v6;
        struct in_pktinfo v4;
        if (family == AF_INET6 && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            memcpy(&v6, CMSG_DATA(c), sizeof(v6));
            ret->v6.sin6_addr = v6.ipi6_addr;
            return true;
        }
        if (family == AF_INET && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(&v4, CMSG_DATA(c), sizeof(v4));
            ret->v4.sin_addr = v4.ipi_addr;
            return true;
        }
    }
    return false;
}

static void put_control(struct msghdr *message, union tc_meant_control *control, int level,
                        int type, const void *info, size_t size)
{
    *control = (union tc_meant_control){.head = {CMSG_LEN(size), level, type}};
    memcpy(CMSG_DATA(&control->head), info, size);
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(size);
}

void tc_meant_answer(struct msghdr *message, union tc_meant_control *control,
                     const union tc_inet *from)
{
    const struct in6_pktinfo v6 = {.ipi6_addr = from->v6.sin6_addr};
    const struct in_pktinfo v4 = {.ipi_spec_dst = from->v4.sin_addr};
    if (from->any.sa_family == AF_INET6)
        put_control(message, control, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
    else
        put_control(message, control, IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
}
