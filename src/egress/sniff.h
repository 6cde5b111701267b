/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a client begins to speak, by its first bytes. Pure. */
#ifndef TC_EGRESS_SNIFF_H
#define TC_EGRESS_SNIFF_H

#include <stddef.h>

enum tc_sniff { TC_SNIFF_MORE, TC_SNIFF_TLS, TC_SNIFF_HTTP, TC_SNIFF_OTHER };

enum { TC_SNIFF_LINE_MAX = 8192 };

/* HTTP is what some server might take for it: a line that begins with a known method, or that
 * names the protocol, also behind empty lines and with small letters. */
enum tc_sniff tc_sniff(const char *bytes, size_t len);

#endif
