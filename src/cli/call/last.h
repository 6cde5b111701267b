/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What was denied last, kept for `toolcage allow`. */
#ifndef TC_CLI_CALL_LAST_H
#define TC_CLI_CALL_LAST_H

#include "cli/call/setup.h"
#include "cli/show/json.h"

/* Keeps the denials of a result that has any that matter. A convenience: that it cannot be kept
 * changes nothing of the call, and is not said. */
void tc_last_keep(const struct tc_setup *setup, const char *tool,
                  const struct toolcage_result *result);

/* The record, JSON: {"policy": path or null, "tool": name or null, "call": id, "time": seconds,
 * "denials": […]}; owned. NULL with the failure. */
char *tc_last_read(struct tc_failure *failure);
/* Which call it is of. */
void tc_last_say(struct tc_slice record);

#endif
