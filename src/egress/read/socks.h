/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parses SOCKS5 requests: only CONNECT, without authentication. Makes no system call. */
#ifndef TC_EGRESS_READ_SOCKS_H
#define TC_EGRESS_READ_SOCKS_H

#include "egress/read/host.h"

/* A message is invalid, is incomplete, or was read. */
enum tc_egress_socks { TC_EGRESS_SOCKS_BAD = -1, TC_EGRESS_SOCKS_MORE, TC_EGRESS_SOCKS_DONE };

/* Reply codes of RFC 1928. */
enum tc_egress_socks_code {
    TC_EGRESS_SOCKS_FINE = 0,
    TC_EGRESS_SOCKS_FAILED = 1,
    TC_EGRESS_SOCKS_DENIED = 2,
    TC_EGRESS_SOCKS_UNREACHABLE = 4,
    TC_EGRESS_SOCKS_NO_COMMAND = 7,
    TC_EGRESS_SOCKS_NO_ADDRESS = 8,
};

enum { TC_EGRESS_SOCKS_ANSWER_SIZE = 10, TC_SOCKS4_ANSWER_SIZE = 8 };

/* Reads the client's greeting; *ret_used is its length. TC_EGRESS_SOCKS_BAD: its list of methods
 * does not have "no authentication". */
enum tc_egress_socks tc_egress_socks_greeting(const unsigned char *bytes, size_t len,
                                              size_t *ret_used);
/* Reads a request; *ret_used is its length. If it is invalid, *ret_code is the code for the reply.
 */
enum tc_egress_socks tc_egress_socks_request(const unsigned char *bytes, size_t len,
                                             size_t *ret_used, struct tc_egress_host *ret,
                                             enum tc_egress_socks_code *ret_code);
void tc_egress_socks_answer(enum tc_egress_socks_code code,
                            unsigned char out[TC_EGRESS_SOCKS_ANSWER_SIZE]);
/* The reply that refuses a SOCKS4 request. */
void tc_egress_socks4_refusal(unsigned char out[TC_SOCKS4_ANSWER_SIZE]);

#endif
