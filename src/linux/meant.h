/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The original destination of a connection or a datagram that a route or a packet filter
 * redirected to our listener. */
#ifndef TC_LINUX_MEANT_H
#define TC_LINUX_MEANT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

union tc_inet {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Room for a datagram's destination address as a control message of either family. */
union tc_meant_control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
};

socklen_t tc_inet_size(const union tc_inet *address);

/* The destination of an accepted connection. `redirected`: by a packet filter. */
bool tc_meant_connection(int fd, bool redirected, union tc_inet *ret);

/* Call before anything is received. From then on datagrams carry their destination, and a reply
 * over IPv6 may have a source address that no interface has. */
bool tc_meant_watch(int fd);
/* The destination of a datagram received by recvmsg(). False: unknown. */
bool tc_meant_datagram(int fd, struct msghdr *message, union tc_inet *ret);
/* Sets the source address of a reply to the address that the client sent to: clients drop
 * replies from other addresses. */
void tc_meant_answer(struct msghdr *message, union tc_meant_control *control,
                     const union tc_inet *from);

#endif
