/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_CAGE_TRUST_H
#define TC_CAGE_TRUST_H

#include "egress/egress.h"
#include "plan/backend.h"

/* Waits for the proxy's authority, in a worker; nothing where it has none. 0, or -1. */
int tc_trust_await(struct tc_cage *cage);
/* Has the cage show it beside what the system trusts. 0, or -1. */
int tc_trust_show(struct tc_cage *cage);

#endif
