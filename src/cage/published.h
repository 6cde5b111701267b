/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The published ports of a live session, from the helper's side: the listening sockets for its
 * egress proxy, and a socket between the proxy and PID 1. */
#ifndef TC_CAGE_PUBLISHED_H
#define TC_CAGE_PUBLISHED_H

#include "plan/backend.h"
#include "publish/publish.h"

struct tc_publisher {
    struct tc_published *ports; /* of plan.publish */
    size_t count;
    struct tc_strv texts;       /* of the ports, with the addresses that the kernel chose */
    int for_proxy, for_session; /* the two ends of a socket, until sent; -1: none */
};
#define TC_PUBLISHER_EMPTY ((struct tc_publisher){.for_proxy = -1, .for_session = -1})

/* Listens at all addresses. 0, or -1 with the failure recorded. */
int tc_publisher_open(struct tc_cage *cage, struct tc_publisher *publisher);
/* Writes the ports into the memory file of the proxy's report. 0, or -1 with errno. */
int tc_publisher_record(const struct tc_publisher *publisher, int report);
/* Sends the listening sockets to the proxy. 0, or -1 with errno. */
int tc_publisher_listen(struct tc_publisher *publisher, int control);
/* Sends PID 1 its end. 0, or -1 with errno. */
int tc_publisher_lend(struct tc_publisher *publisher, int talk);
void tc_publisher_done(struct tc_publisher *publisher);

#endif
