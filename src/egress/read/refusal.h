/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a client is told that speaks HTTP: an answer that a model can act on. Pure. */
#ifndef TC_EGRESS_READ_REFUSAL_H
#define TC_EGRESS_READ_REFUSAL_H

#include "egress/egress.h"

/* A whole response. `what`: a reason or failure; host may be NULL, why may be NULL. */
void tc_egress_refusal(struct tc_buf *to, const struct tc_egress_config *config, int what,
                       const char *host, unsigned port, const char *why);

#endif
