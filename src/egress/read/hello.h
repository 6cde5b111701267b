/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The host that a TLS client asks for in its first message. Pure.
 *
 * Encrypted client hellos (extension 0xfe0d) are not looked at: browsers send one filled with noise
 * to every server, and the outer name, which this reads, is the one that a server without the keys
 * obeys. The keys come by DNS records of types that the cage's resolver never gives. */
#ifndef TC_EGRESS_READ_HELLO_H
#define TC_EGRESS_READ_HELLO_H

#include "egress/read/host.h"

enum tc_hello { TC_HELLO_UNCLEAR = -1, TC_HELLO_MORE, TC_HELLO_DONE };

enum { TC_HELLO_MAX = 16384 };

/* ret->name "": it asks for none. */
enum tc_hello tc_hello_read(const unsigned char *bytes, size_t len, struct tc_egress_host *ret);

#endif
