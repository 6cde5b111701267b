/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The names of the system calls that the default profile covers, on any architecture. All others
 * fail with ENOSYS in every cage. */
#ifndef TC_POLICY_NAMES_SYSCALL_NAMES_H
#define TC_POLICY_NAMES_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

bool tc_syscall_known(const char *name);
/* The nearest name, or NULL if none is similar. Borrowed, static. */
const char *tc_syscall_nearest(const char *name);
/* May a policy allow this call, although the profile refuses it? */
bool tc_syscall_allowable(const char *name);
/* Why no policy allows a call that is often requested; NULL for other names. Static. */
const char *tc_syscall_never(const char *name);
/* All of them, sorted. */
const char *const *tc_syscall_names(size_t *ret_count);

#endif
