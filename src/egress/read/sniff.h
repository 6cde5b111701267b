/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a client begins to speak, by its first bytes. Pure. */
#ifndef TC_EGRESS_READ_SNIFF_H
#define TC_EGRESS_READ_SNIFF_H

#include <stddef.h>

#include "egress/read/host.h"

enum tc_egress_sniff {
    TC_SNIFF_MORE,
    TC_SNIFF_TLS,     /* a record of it, in whatever order or version */
    TC_SNIFF_HTTP,    /* what some server might take for it */
    TC_SNIFF_OTHER,   /* nothing that names a host */
    TC_SNIFF_UNCLEAR, /* a first line that does not end */
};

enum { TC_SNIFF_LINE_MAX = 65536 };

/* HTTP is a first line with a known method as its first word, or with "HTTP/" anywhere; words end
 * at whatever some server takes for a space, and what stands before the first does not count. A
 * word that is no word of HTTP (it ends with another byte than a space) is OTHER at once, so that a
 * binary protocol need not wait for the end of a line; a NUL ends a line, too. */
enum tc_egress_sniff tc_egress_sniff(const char *bytes, size_t len);

/* The host that a TLS client asks for in its first message. Pure.
 *
 * Encrypted client hellos (extension 0xfe0d) are not looked at: browsers send one filled with noise
 * to every server, and the outer name, which this reads, is the one that a server without the keys
 * obeys. The keys come by DNS records of types that the cage's resolver never gives. */
enum tc_egress_hello { TC_HELLO_UNCLEAR = -1, TC_HELLO_MORE, TC_HELLO_DONE };

enum { TC_HELLO_MAX = 16384 };

/* ret->name "": it asks for none. */
enum tc_egress_hello tc_egress_hello_read(const unsigned char *bytes, size_t len,
                                          struct tc_egress_host *ret);

#endif
