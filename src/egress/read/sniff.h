/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Detects the client's protocol from its first bytes. Pure. */
#ifndef TC_EGRESS_READ_SNIFF_H
#define TC_EGRESS_READ_SNIFF_H

#include <stddef.h>

#include "egress/read/host.h"

enum tc_egress_sniff {
    TC_SNIFF_MORE,
    TC_SNIFF_TLS,     /* a TLS record of any type or version */
    TC_SNIFF_HTTP,    /* bytes that some server might take for HTTP */
    TC_SNIFF_OTHER,   /* a protocol that names no host */
    TC_SNIFF_UNCLEAR, /* an endless first line */
};

enum { TC_SNIFF_LINE_MAX = 65536 };

/* HTTP is a first line with a known method as its first word, or with "HTTP/" anywhere. Words end
 * at every byte that some server treats as a space; leading spaces are ignored. A first word that
 * ends with a byte other than a space is OTHER at once, so that a binary protocol does not wait for
 * a line end; a NUL also ends a line. */
enum tc_egress_sniff tc_egress_sniff(const char *bytes, size_t len);

/* Reads the host name (SNI) from a TLS ClientHello. Pure. */
enum tc_egress_hello { TC_HELLO_UNCLEAR = -1, TC_HELLO_MORE, TC_HELLO_DONE };

enum { TC_HELLO_MAX = 16384 };

/* ret->name "": no SNI. */
enum tc_egress_hello tc_egress_hello_read(const unsigned char *bytes, size_t len,
                                          struct tc_egress_host *ret);

#endif
