/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The listening sockets inside the cage, and what arrives there. */
#ifndef TC_EGRESS_PROXY_LISTEN_H
#define TC_EGRESS_PROXY_LISTEN_H

#include "egress/proxy/loop.h"
#include "egress/read/dns.h"

/* Takes the descriptor. False: it is not what the role wants, or cannot be watched. */
/* Takes what has come already, and closes them. */
void tc_egress_listeners_end(struct tc_egress_proxy *p);
bool tc_egress_listen(struct tc_egress_proxy *p, int fd, enum tc_egress_role role);
/* Those that rested listen again. */
void tc_egress_listeners_tick(struct tc_egress_proxy *p);

/* question.c: the answer to one question; 0: none is due. */
size_t tc_egress_answer(struct tc_egress_proxy *p, const unsigned char *bytes, size_t len,
                        unsigned char out[TC_DNS_MESSAGE_MAX]);

#endif
