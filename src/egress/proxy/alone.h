/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy without a supervisor: it ends when it is told to by a signal, and says itself what it
 * refuses. */
#ifndef TC_EGRESS_PROXY_ALONE_H
#define TC_EGRESS_PROXY_ALONE_H

#include "egress/proxy/loop.h"

enum tc_egress_form { TC_EGRESS_TEXT = 1, TC_EGRESS_JSON };

/* TERM and INT end it, before the walls are up. False: no descriptor for them. */
bool tc_egress_alone_begin(struct tc_egress_proxy *p);
/* Whoever starts it as root does not want it to be. False: it cannot become nobody. */
bool tc_egress_alone_become(void);
/* Says what was refused since the last time, and forgets it. */
void tc_egress_alone_tell(struct tc_egress_proxy *p);
/* Says why it cannot start, and returns its exit code. */
int tc_egress_alone_fail(const char *what, const char *hint);

#endif
