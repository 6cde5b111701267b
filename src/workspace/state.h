/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directory of what outlives a helper: /run/toolcage for root, the caller's own state directory
 * for everybody else. */
#ifndef TC_WORKSPACE_STATE_H
#define TC_WORKSPACE_STATE_H

#include <sys/types.h>

/* Before anything else: the caller's own state directory, or NULL; borrowed for good. */
void tc_state_set(const char *directory);
/* A directory in it, made where it is missing and the caller's alone: others may not even list it.
 * A descriptor, or -1 with errno and *ret_where (may be NULL) naming the state directory. From any
 * thread. */
int tc_state_open(const char *part, const char **ret_where);
/* The same for one that programs of others enter. */
int tc_state_open_mode(const char *part, mode_t mode, const char **ret_where);
/* tc_state_open() to look into only: nothing is made. ENOENT: it is not there. */
int tc_state_look(const char *part);

#endif
