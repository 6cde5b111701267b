/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The state directory holds data that outlives a helper: /run/toolcage for root, else the caller's
 * own state directory. */
#ifndef TC_WORKSPACE_STATE_H
#define TC_WORKSPACE_STATE_H

#include <sys/types.h>

/* The directory of journals of commits. */
#define TC_STATE_COMMITS "commits"

/* Sets the caller's own state directory, or NULL, before any other call; borrowed until exit. */
void tc_state_set(const char *directory);
/* That directory, also for root; NULL: none. Borrows. */
const char *tc_state_given(void);
/* Opens a directory in it, created if missing, with access for the caller alone: other users may
 * not even list it. An fd, or -1 with errno and the state directory in *ret_where (may be NULL).
 * Thread-safe. */
int tc_state_open(const char *part, const char **ret_where);
/* The same, but the directory gets this mode, for third-party programs that enter it. */
int tc_state_open_mode(const char *part, mode_t mode, const char **ret_where);
/* Opens an existing directory of the state directory, and gives it mode 0700. An fd, or -1 with
 * errno; ENOENT: it does not exist. */
int tc_state_look(const char *part);
/* tc_state_open() and tc_state_look() in the caller's own state directory, also for root: it is on
 * a disk, unlike /run. -1: there is none, or it cannot be used. */
int tc_state_open_disk(const char *part);
int tc_state_look_disk(const char *part);

#endif
