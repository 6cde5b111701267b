/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The HTTP requests of a recorded call with their responses: stored when the call ends, and given
 * to the proxy of its replay. */
#ifndef TC_CALL_EXCHANGES_H
#define TC_CALL_EXCHANGES_H

#include "call/call.h"
#include "inputs/store.h"

/* Creates the file for the call's proxy: to record in, or, in a replay, with the recorded requests.
 * The caller closes it; -1 in *ret_fd: the call needs none. 0 or a negative code. */
int tc_exchanges_begin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err);
/* Stores what the proxy has recorded, and writes the member "exchanges": the digest of the stored
 * directory, or why it is not stored. Nothing for a call without a network. */
void tc_exchanges_keep(const struct toolcage_call *call, struct tc_inputs *store,
                       struct tc_buf *out);

#endif
