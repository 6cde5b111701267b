/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Staged changes in the queue of approvals: a call that has ended waits for a person's answer, who
 * applies them by `toolcage approvals`. */
#ifndef TC_CLI_CALL_STAGED_H
#define TC_CLI_CALL_STAGED_H

#include "approve/queue/queue.h"
#include "cli/call/consent.h"
#include "cli/cli.h"

/* Waits for an answer, and reports it. 0; -1: no person could be asked, or the answer was no. */
int tc_staged_wait(struct toolcage_engine *engine, const char *call, const char *queue);

/* Is this request about staged changes? */
bool tc_staged_is(const struct tc_queued *q);
/* How many. */
int64_t tc_staged_count(const struct tc_queued *q);
/* Prints the list and the diffs. 0, an exit code, or -1 with the failure: they are no longer those
 * that the request is about. */
int tc_staged_show(const struct tc_queued *q, struct tc_failure *failure);
/* The person decides at the terminal, or (`person` NULL) has seen them before and approves those
 * below `paths` (none: all), as the list names them. Then answers the request. 0, an exit code, or
 * -1 with the failure. */
int tc_staged_approve(const struct tc_queued *q, const struct tc_person *person, size_t path_count,
                      char *const paths[], struct tc_failure *failure);

#endif
