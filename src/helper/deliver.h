/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Bringing a job's news to the library: output as it comes where the host wants it, then the
 * outcome. A host that does not read is waited for without holding up anybody. */
#ifndef TC_HELPER_DELIVER_H
#define TC_HELPER_DELIVER_H

#include "helper/job.h"

/* New output was read: sends what the host has not seen of it. */
void tc_deliver_stream(struct tc_running *job);
/* The call is over and its outcome complete: sends the rest of the output and the outcome. */
void tc_deliver(struct tc_running *job);
/* The job's socket takes more. */
void tc_deliver_more(struct tc_running *job);

#endif
