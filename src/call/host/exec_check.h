/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program needs to start (policy/lint/lint.h), from the files of this machine. */
#ifndef TC_CALL_HOST_EXEC_CHECK_H
#define TC_CALL_HOST_EXEC_CHECK_H

#include "call/result/result.h"
#include "policy/grant.h"
#include "policy/lint/lint.h"

tc_exec_check_fn tc_exec_check_look;
/* The same of what a grant shows. */
bool tc_exec_check_of_grant(const struct tc_grant *grant, const char *home, const char *command,
                            struct tc_exec_check *ret);
/* ... from the first place on the cage's PATH where something of that name is; else *ret stays
 * empty. */
bool tc_exec_check_on_path(const struct tc_grant *grant, const char *home, const char *name,
                           struct tc_exec_check *ret);
/* Something is there, and needs what is not. */
bool tc_exec_check_lacks(const struct tc_exec_check *starts);

/* The interpreter, or what a link leads to, that a command needs and the cage does not have, as an
 * error in the place of the helper's; NULL: that is not why, or there is no memory. Of the host it
 * tells nothing that the grant does not show. */
struct toolcage_error *tc_not_found_error(const struct tc_result_frame *frame,
                                          const struct tc_outcome_failure *failure);

#endif
