/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Keeps what the replay of a recorded call needs. */
#ifndef TC_CALL_INPUTS_H
#define TC_CALL_INPUTS_H

#include "call/call.h"
#include "inputs/store.h"

/* Does the call repeat a recorded one? */
bool tc_call_is_replay(const struct toolcage_call *call);
/* Stores the call's input and what it may see of its workspace, and writes the member "inputs": the
 * digest of the workspace, or why it is not stored. `store` is opened: keep it open until the
 * record is in the log, so that no sweep removes what the record names. */
void tc_call_keep_inputs(struct toolcage_call *call, int64_t most, struct tc_inputs *store,
                         struct tc_buf *out);
/* Stores the output, under the digests that its record has. */
void tc_call_keep_output(int64_t most, const struct tc_outcome *outcome, struct tc_inputs *store);

#endif
