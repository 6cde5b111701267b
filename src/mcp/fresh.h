/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * per_call: a fresh server in a fresh cage for each tools/call. It gets the client's own
 * initialize, must answer like the server that the client knows, and ends with its call. The client
 * gets the answer when this server has ended, so that the next call finds its changes. */
#ifndef TC_MCP_FRESH_H
#define TC_MCP_FRESH_H

#include <poll.h>

#include "mcp/wrap.h"

enum { TC_FRESH_FDS = 2 * TC_FRESH_MAX };

/* The message is the client's initialize; the result is the server's answer to it. */
void tc_fresh_hello(struct tc_wrap *wrap, const struct tc_rpc *rpc, struct tc_slice message);
void tc_fresh_greeting(struct tc_wrap *wrap, struct tc_slice result);
/* Why the call cannot have a server now; NULL: it can. */
const char *tc_fresh_refusal(const struct tc_wrap *wrap, const struct tc_rpc *rpc);
/* Starts a server for the call, whose request is open. NULL: it runs; else why not, for the model
 * (owned), also NULL if memory ran out, which is recorded. */
char *tc_fresh_begin(struct tc_wrap *wrap, const struct tc_rpc *rpc, struct tc_slice message);
/* Ends the server of the call with this normalized id; NULL: all, and their answers that have
 * arrived go to the client. The calls go on until they have ended. */
void tc_fresh_end(struct tc_wrap *wrap, const char *key);
/* For the loop: what to wait for, until when (0: no limit), and what to do then. 0, or negative
 * with *err. */
int64_t tc_fresh_due(const struct tc_wrap *wrap);
void tc_fresh_watch(const struct tc_wrap *wrap, bool room, struct pollfd fds[TC_FRESH_FDS]);
int tc_fresh_step(struct tc_wrap *wrap, const struct pollfd fds[TC_FRESH_FDS],
                  struct toolcage_error **err);
void tc_fresh_done(struct tc_wrap *wrap);

#endif
