/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Injects secrets into requests, and masks them in responses. Makes no system call. */
#ifndef TC_EGRESS_READ_SECRETS_H
#define TC_EGRESS_READ_SECRETS_H

#include "egress/egress.h"
#include "egress/read/http.h"

enum { TC_EGRESS_SECRETS_MAX = 64 };

/* Parses the secrets' values, and makes the header lines. False: the values do not match the
 * config, or out of memory. */
bool tc_egress_secrets_read(struct tc_egress_config *config, const char *bytes, size_t len);

/* May a request to this endpoint get a secret? Then responses are masked. */
bool tc_egress_secrets_go(const struct tc_egress_config *config, const char *host, unsigned port);

/* The header lines for a request to this endpoint, at most TC_EGRESS_SECRETS_MAX + 1, borrowed from
 * the config. Without TLS, only secrets whose host allows it. If there are any, another line asks
 * for an unencoded response, so that values in it can be found. */
size_t tc_egress_secrets_for(const struct tc_egress_config *config, const char *host, unsigned port,
                             bool tls, struct tc_egress_http_line *lines);

/* Masks each value in `text` with asterisks. Returns how many bytes may be sent now: the rest may
 * be the beginning of a value. */
size_t tc_egress_secrets_mask(const struct tc_strv *values, struct tc_buf *text);

#endif
