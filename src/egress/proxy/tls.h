/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One end of TLS, without a socket: bytes of the wire go in and come out. */
#ifndef TC_EGRESS_PROXY_TLS_H
#define TC_EGRESS_PROXY_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "egress/proxy/authority.h"

struct tc_egress_tls;

/* Stands for the host towards a client; speaks to the host. NULL: out of memory. */
struct tc_egress_tls *tc_egress_tls_accept(const struct tc_egress_authority *a, const char *host);
struct tc_egress_tls *tc_egress_tls_connect(const struct tc_egress_authority *a, const char *host);
void tc_egress_tls_free(struct tc_egress_tls *tls);

enum tc_egress_tls_stream { TC_EGRESS_TLS_BROKEN = -1, TC_EGRESS_TLS_MORE, TC_EGRESS_TLS_UP };

/* Bytes from the wire; false: out of memory. */
bool tc_egress_tls_take(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Goes on with the handshake. */
enum tc_egress_tls_stream tc_egress_tls_shake(struct tc_egress_tls *tls);
bool tc_egress_tls_is_up(const struct tc_egress_tls *tls);
/* What the other side said; 0: nothing more for now, -1: broken. */
ssize_t tc_egress_tls_read(struct tc_egress_tls *tls, char *to, size_t size);
/* It said that it is at its end. */
bool tc_egress_tls_has_ended(const struct tc_egress_tls *tls);
bool tc_egress_tls_write(struct tc_egress_tls *tls, const char *bytes, size_t len);
/* Says that this side is at its end. */
void tc_egress_tls_end(struct tc_egress_tls *tls);
/* All that is for the wire now; valid until the next call. */
size_t tc_egress_tls_out(struct tc_egress_tls *tls, const char **ret_at);
void tc_egress_tls_out_gone(struct tc_egress_tls *tls);
/* Why the handshake broke, for people; static. */
const char *tc_egress_tls_why(const struct tc_egress_tls *tls);

#endif
