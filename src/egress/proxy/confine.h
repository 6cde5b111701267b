/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How the proxy confines itself before it opens the first connection: it relays every byte of a
 * cage, so an attacker that takes it over must find nothing to use. */
#ifndef TC_EGRESS_PROXY_CONFINE_H
#define TC_EGRESS_PROXY_CONFINE_H

#include "egress/egress.h"

/* Called first: denies ptrace and core dumps, so other processes of the same user cannot read its
 * memory. */
bool tc_egress_keep_shut(void);
/* Applies all restrictions; false: one failed. `standalone`: without a supervisor. Afterwards the
 * proxy can resolve names and connect to the ports of the grant, and little else. */
bool tc_egress_confine(const struct tc_egress_config *config, bool standalone);

#endif
