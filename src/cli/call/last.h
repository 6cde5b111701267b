/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The denials of the last call, stored for `toolcage allow`. */
#ifndef TC_CLI_CALL_LAST_H
#define TC_CLI_CALL_LAST_H

#include "cli/call/setup.h"
#include "cli/show/failure.h"
#include "cli/show/json.h"

/* Stores a result's denials if any is relevant. A convenience: a failure to store them does not
 * affect the call and is not reported. */
void tc_last_keep(const struct tc_setup *setup, const char *tool,
                  const struct toolcage_result *result);

/* The record, JSON: {"policy": path or null, "tool": name or null, "call": id, "time": seconds,
 * "denials": […]}; owned. NULL with the failure. */
char *tc_last_read(struct tc_failure *failure);
/* Prints which call the record belongs to. */
void tc_last_say(struct tc_slice record);

/* Records which call a person viewed last. A command that acts on the last call must not act on a
 * call that ended after the view. The id is enough: staged changes and denials of a call do not
 * grow after its end. */

/* `what`: "changes" or "denials". If the id cannot be stored, nothing counts as viewed. */
void tc_viewed_keep(const char *what, const char *call);
/* 0 if this call's changes or denials were viewed last; else -1 with the failure, which names both
 * calls and the command to view them. */
int tc_viewed_check(const char *what, const char *call, struct tc_failure *failure);

#endif
