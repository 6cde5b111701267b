/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a client is told that speaks HTTP: an answer that a model can act on. Pure. */
#ifndef TC_EGRESS_REFUSAL_H
#define TC_EGRESS_REFUSAL_H

#include "egress/egress.h"

/* Beside the reasons of denials. */
enum tc_egress_failure {
    TC_EGRESS_NO_NAME = TC_EGRESS_REASONS, /* it has no address */
    TC_EGRESS_NO_ANSWER,                   /* nobody took the connection */
    TC_EGRESS_TOO_LATE,
    TC_EGRESS_NO_UPSTREAM,   /* the site's own proxy cannot be reached */
    TC_EGRESS_NOT_UPSTREAM,  /* it does not go there */
    TC_EGRESS_NOT_TRUSTED,   /* it did not prove who it is */
    TC_EGRESS_NO_PROXY_FORM, /* a request for a server, not for a proxy */
};

/* A whole response. `what`: a reason or failure; host may be NULL, why may be NULL. */
void tc_egress_refusal(struct tc_buf *to, const struct tc_egress_config *config, int what,
                       const char *host, unsigned port, const char *why);

#endif
