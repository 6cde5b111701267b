/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What was denied last, kept for `toolcage allow`. */
#ifndef TC_CLI_CALL_LAST_H
#define TC_CLI_CALL_LAST_H

#include "cli/call/setup.h"
#include "cli/show/failure.h"
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

/* Which call a person viewed last. A command that acts on the last call must not act on one that
 * ended after the view. The id is enough: staged changes and denials of a call do not grow after
 * its end. */

/* `what`: "changes" or "denials". Where the id cannot be stored, nothing counts as viewed. */
void tc_viewed_keep(const char *what, const char *call);
/* 0 if those of this call were viewed last; else -1 with the failure, which names both calls and
 * how to view them. */
int tc_viewed_check(const char *what, const char *call, struct tc_failure *failure);

#endif
