/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tells a program of the operator about each new request in the queue of approvals (--notify). It
 * answers nothing: a person does, by `toolcage approvals`. */
#ifndef TC_CLI_CALL_NOTIFY_H
#define TC_CLI_CALL_NOTIFY_H

#include <stdio.h>

#include "approve/queue/queue.h"
#include "cli/call/secret.h"

/* Takes the program of --notify (NULL: not given) for the requests of this process, which need
 * --queue. `path`, `writers` and all that is in it are borrowed. 0, or -1 with the failure. */
int tc_notify_use(const char *path, bool queues, struct tc_writers writers,
                  struct tc_failure *failure);
/* Starts the program for a request with this id, and does not wait for it. What goes wrong is one
 * line on standard error. Does nothing without a program. */
void tc_notify_request(const char *id);
/* A request as one JSON object. */
void tc_notify_put(FILE *out, const struct tc_queued *q);

#endif
