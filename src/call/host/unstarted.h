/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * "Command not found" of a file that is there. */
#ifndef TC_CALL_HOST_UNSTARTED_H
#define TC_CALL_HOST_UNSTARTED_H

#include "call/result/result.h"

/* The interpreter, or what a link leads to, that a command needs and the cage does not have, as an
 * error in the place of the helper's; NULL: that is not why, or there is no memory. Of the host it
 * tells nothing that the grant does not show. */
struct toolcage_error *tc_unstarted_error(const struct tc_result_frame *frame,
                                          const struct tc_outcome_failure *failure);

#endif
