/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Live sessions and their commands (include/toolcage/session.h). */
#ifndef TC_CALL_LIVE_H
#define TC_CALL_LIVE_H

#include "call/call.h"

int tc_live_open(struct toolcage_call *call, int64_t idle_ms, int64_t lifetime_ms,
                 struct toolcage_error **err);
int tc_live_wait(struct toolcage_call *session, int timeout_ms, struct toolcage_error **err);
int tc_live_call(const struct toolcage_call *session, struct toolcage_call **ret,
                 struct toolcage_error **err);
/* Its command is this text for the session's shell. */
int tc_live_shell(struct toolcage_call *call, const char *text, struct toolcage_error **err);
/* Sends a signal to the processes of a command. */
int tc_live_signal(struct toolcage_call *call, int number, struct toolcage_error **err);
int tc_live_end(struct toolcage_call *session, struct toolcage_error **err);

/* Is the call a session, or a command in one? */
static inline bool tc_call_is_live(const struct toolcage_call *call)
{
    return call->lifetime_ms || call->live_in[0];
}
/* May the call be narrowed by this key? 0 or a negative code. */
int tc_live_check_key(const struct toolcage_call *call, const char *key,
                      struct toolcage_error **err);
/* Does the resolved grant allow the session? Sets the lifetime that the caller left to the policy.
 * 0 or a negative code. */
int tc_live_check(struct toolcage_call *call, struct toolcage_error **err);
/* Adds the session, or the command's session, to the plan. False: out of memory. */
bool tc_live_plan(const struct toolcage_call *call, struct tc_plan *plan);

#endif
