/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Why a command could not be executed. The helper knows only the kernel's error number; here the
 * file is looked up and read as the cage shows it. */
#ifndef TC_CALL_HOST_EXEC_ERROR_H
#define TC_CALL_HOST_EXEC_ERROR_H

#include "call/result/result.h"

/* An error that replaces the helper's; NULL: the reason is unknown, or out of memory. It reveals
 * nothing about host files that the grant does not show. */
struct toolcage_error *tc_exec_error(const struct tc_result_frame *frame,
                                     const struct tc_outcome_failure *failure);

/* A note on a command that ended with this exit code because of its first line, which the kernel
 * accepts: "#!/usr/bin/env python3\r". Owned; NULL: none, or out of memory. */
char *tc_exec_note(const struct tc_result_frame *frame, int64_t exit_code);

/* command_name.c: the hint for a name that no directory of the grant's PATH has. Owned; NULL when
 * out of memory. */
char *tc_command_name_hint(const struct tc_grant *grant, bool is_default, const char *name);

/* file_fault.c: why the kernel refuses to execute a file of the host with this error, as the rest
 * of a sentence about it: "is a directory"; `name` is the file in the cage, for the hint. Both
 * texts are owned; *ret_hint may stay NULL. NULL: the reason is unknown, or out of memory. */
char *tc_file_fault(const char *host, const char *name, int errnum, char **ret_hint);

#endif
