/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One end of a TLS connection without a socket: the caller moves the encrypted bytes. */
#ifndef TC_EGRESS_PROXY_TLS_H
#define TC_EGRESS_PROXY_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "egress/proxy/authority.h"

struct tc_egress_tls;

/* accept: plays the host towards a client; connect: is a client of the host. NULL: out of memory.
 */
struct tc_egress_tls *tc_egress_tls_accept(const struct tc_egress_authority *a, const char *host);
struct tc_egress_tls *tc_egress_tls_connect(const struct tc_egress_authority *a, const char *host);
void tc_egress_tls_free(struct tc_egress_tls *tls);

enum tc_egress_tls_stream { TC_EGRESS_TLS_BROKEN = -1, TC_EGRESS_TLS_MORE, TC_EGRESS_TLS_UP };

/* Adds received encrypted bytes. False: out of memory. */
bool tc_egress_tls_take(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Continues the handshake. */
enum tc_egress_tls_stream tc_egress_tls_shake(struct tc_egress_tls *tls);
bool tc_egress_tls_is_up(const struct tc_egress_tls *tls);
/* Decrypted bytes; 0: none for now, -1: broken. */
ssize_t tc_egress_tls_read(struct tc_egress_tls *tls, char *to, size_t size);
/* The peer sent close_notify. */
bool tc_egress_tls_has_ended(const struct tc_egress_tls *tls);
bool tc_egress_tls_write(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Sends close_notify. */
void tc_egress_tls_end(struct tc_egress_tls *tls);
/* All encrypted bytes to send; valid until the next call. */
size_t tc_egress_tls_out(struct tc_egress_tls *tls, const char **ret_at);
void tc_egress_tls_out_gone(struct tc_egress_tls *tls);
/* Why the handshake failed, for messages; static. */
const char *tc_egress_tls_why(const struct tc_egress_tls *tls);

#endif
