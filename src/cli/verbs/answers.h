/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A person's answers to requests in the queue of approvals. */
#ifndef TC_CLI_VERBS_ANSWERS_H
#define TC_CLI_VERBS_ANSWERS_H

#include "approve/queue/queue.h"
#include "cli/show/failure.h"
#include "cli/show/opts.h"

/* Both return 0, an exit code after a message, or -1 with the failure. */
int tc_answers_approve(const struct tc_args *args, const struct tc_queued *q,
                       struct tc_failure *failure);
int tc_answers_deny(const struct tc_args *args, const struct tc_queued *q,
                    struct tc_failure *failure);

#endif
