/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which secrets go into a request, and none out of an answer. Pure. */
#ifndef TC_EGRESS_READ_SECRETS_H
#define TC_EGRESS_READ_SECRETS_H

#include "egress/egress.h"
#include "egress/read/http.h"

enum { TC_EGRESS_SECRETS_MAX = 64 };

/* Takes the values out of what came beside the config, and makes the lines of the headers. False:
 * these are not its values, or out of memory. */
bool tc_egress_secrets_read(struct tc_egress_config *config, const char *bytes, size_t len);

/* May a request to there have any? Then what the server says is masked. */
bool tc_egress_secrets_go(const struct tc_egress_config *config, const char *host, unsigned port);

/* The header lines for a request to there, at most TC_EGRESS_SECRETS_MAX + 1, borrowed from the
 * config. Without TLS only those whose host says so. With any, the answer is asked for as it is,
 * so that a value in it can be seen. */
size_t tc_egress_secrets_for(const struct tc_egress_config *config, const char *host, unsigned port,
                             bool tls, struct tc_egress_http_line *lines);

/* Puts asterisks over each value in `text`, the end of which may be the beginning of one: how many
 * bytes may go on before more of the text is known. */
size_t tc_egress_secrets_mask(const struct tc_strv *values, struct tc_buf *text);

#endif
