/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where a host is granted with any port no socket can listen on all of them: a packet filter of the
 * cage's own namespace brings each connection to one. Written as nf_tables reads it, because a
 * program for it would cost more than the rest of the cage. */
#ifndef TC_EGRESS_DOOR_REDIRECT_H
#define TC_EGRESS_DOOR_REDIRECT_H

#include "base/buf.h"

/* Adds the batch that brings connections of AF_INET or AF_INET6 that leave the cage's own loopback
 * and its proxy aside to this port of the loopback. Its last request alone is acknowledged. */
void tc_redirect_make(struct tc_buf *out, int family, unsigned port);

#endif
