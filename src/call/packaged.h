/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The paths that every cage shows because packages own them (system/system.h), for a caller that
 * may run rpm to learn them. */
#ifndef TC_CALL_PACKAGED_H
#define TC_CALL_PACKAGED_H

#include <stdbool.h>

struct toolcage_engine;

/* One a line, owned. `state`: the caller's state directory; NULL: none. False: out of memory. */
bool tc_call_packaged(struct toolcage_engine *engine, const char *state, char **ret);

#endif
