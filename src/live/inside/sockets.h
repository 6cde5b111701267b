/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of a live session makes sockets for its egress proxy, which cannot enter the network
 * namespace and connects them to published ports. The proxy requests an address family, an int32_t;
 * the reply repeats it and carries the socket, or no fd if PID 1 could make none. */
#ifndef TC_LIVE_INSIDE_SOCKETS_H
#define TC_LIVE_INSIDE_SOCKETS_H

#include <stdbool.h>

/* Replies to the requests that have arrived: unconnected TCP sockets, and nothing else. Never
 * blocks, allocates nothing. False: no more requests come. */
bool tc_live_lend_sockets(int proxy);

#endif
