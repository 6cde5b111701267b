/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One end of a TLS connection, without a socket: the caller receives and sends the encrypted bytes.
 */
#ifndef TC_EGRESS_PROXY_TLS_H
#define TC_EGRESS_PROXY_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "egress/proxy/authority.h"

struct tc_egress_tls;

/* accept: the server's end for the tool, with a certificate for `host` by the cage's CA. connect:
 * the client's end for the real host. NULL: out of memory. */
struct tc_egress_tls *tc_egress_tls_accept(const struct tc_egress_authority *a, const char *host);
struct tc_egress_tls *tc_egress_tls_connect(const struct tc_egress_authority *a, const char *host);
void tc_egress_tls_free(struct tc_egress_tls *tls);

/* Of a handshake: it has failed, it needs more bytes of the peer, or it is complete. */
enum tc_egress_tls_stream { TC_EGRESS_TLS_BROKEN = -1, TC_EGRESS_TLS_MORE, TC_EGRESS_TLS_UP };

/* Adds received encrypted bytes. False: out of memory. */
bool tc_egress_tls_take(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Continues the handshake. */
enum tc_egress_tls_stream tc_egress_tls_shake(struct tc_egress_tls *tls);
/* Is the handshake complete? */
bool tc_egress_tls_is_up(const struct tc_egress_tls *tls);
/* Reads decrypted bytes. Their number; 0: none yet, -1: the connection is broken. */
ssize_t tc_egress_tls_read(struct tc_egress_tls *tls, char *to, size_t size);
/* Has the peer sent close_notify? */
bool tc_egress_tls_has_ended(const struct tc_egress_tls *tls);
/* Encrypts bytes for the peer. False: the connection is broken. */
bool tc_egress_tls_write(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Sends close_notify. */
void tc_egress_tls_end(struct tc_egress_tls *tls);
/* The encrypted bytes that the caller must send; valid until the next call with `tls`. */
size_t tc_egress_tls_out(struct tc_egress_tls *tls, const char **ret_at);
/* The caller has sent these bytes. */
void tc_egress_tls_out_gone(struct tc_egress_tls *tls);
/* Why the handshake failed, for messages; static. */
const char *tc_egress_tls_why(const struct tc_egress_tls *tls);

#endif
