/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where a connection or a datagram was meant to go, that a route or a packet filter brought to a
 * listener of ours. */
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

/* Room for the one address that goes with a datagram, of either family, or for both. */
union tc_meant_control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
};

socklen_t tc_inet_size(const union tc_inet *address);

/* Of an accepted connection. `redirected`: a packet filter brought it here. */
bool tc_meant_connection(int fd, bool redirected, union tc_inet *ret);

/* Before anything is received: from now on datagrams tell where they were sent, and an answer may
 * come from each address of a route, not only from those of an interface. */
bool tc_meant_watch(int fd);
/* Of what recvmsg() brought. False: it does not say. */
bool tc_meant_datagram(int fd, struct msghdr *message, union tc_inet *ret);
/* The answer comes from the address that was asked: clients drop what comes from elsewhere. */
void tc_meant_answer(struct msghdr *message, union tc_meant_control *control,
                     const union tc_inet *from);

#endif
