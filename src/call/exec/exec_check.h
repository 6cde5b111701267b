/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files that a program needs to start (policy/lint/lint.h), read from this host. */
#ifndef TC_CALL_HOST_EXEC_CHECK_H
#define TC_CALL_HOST_EXEC_CHECK_H

#include "policy/grant.h"
#include "policy/lint/lint.h"

tc_exec_check_fn tc_exec_check_look;
/* The same for paths as a grant shows them. */
bool tc_exec_check_of_grant(const struct tc_grant *grant, const char *home, const char *command,
                            struct tc_exec_check *ret);
/* The same for the first file with this name on the cage's PATH; without one *ret stays empty. */
bool tc_exec_check_on_path(const struct tc_grant *grant, const char *home, const char *name,
                           struct tc_exec_check *ret);
/* The program exists, and a file that it needs does not. */
bool tc_exec_check_lacks(const struct tc_exec_check *starts);

#endif
