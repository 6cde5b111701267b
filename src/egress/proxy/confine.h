/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the proxy does to itself before it speaks to anybody: it holds every byte that a cage sends
 * out, so whoever takes it over must find nothing in it to use. */
#ifndef TC_EGRESS_PROXY_CONFINE_H
#define TC_EGRESS_PROXY_CONFINE_H

#include "egress/egress.h"

/* The first thing of all: whoever else has its user id cannot look into it, and it leaves no core.
 */
bool tc_egress_keep_shut(void);
/* `standalone`: without a supervisor. Sets up the whole confinement; false where a part of it is
 * missing. Names of the machine can be looked up afterwards, and connections made to the ports of
 * the grant; hardly anything else. */
bool tc_egress_confine(const struct tc_egress_config *config, bool standalone);

#endif
