/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How PID 1 of a cage executes a tool. Allocates nothing. */
#ifndef TC_LIVE_INSIDE_EXECUTE_H
#define TC_LIVE_INSIDE_EXECUTE_H

/* Tries the paths in order, as execvp does: runs the first existing program. Returns the most
 * informative errno. */
int tc_execute(const char *const *programs, char *const *argv, char *const *envp);
/* Enters the first directory that exists and is accessible. 0, or -1 with the last errno. */
int tc_enter_first(const char *const *directories);

#endif
