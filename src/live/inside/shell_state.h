/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a session's shell keeps between its commands: text that only they write and evaluate. PID 1
 * holds it, in a file that no command has, and takes a new one over whole or not at all. Allocates
 * nothing. */
#ifndef TC_LIVE_INSIDE_SHELL_STATE_H
#define TC_LIVE_INSIDE_SHELL_STATE_H

#include <sys/types.h>

/* The descriptor of a command, and the last line of each state. */
#define TC_STATE_FD_TEXT "9"
#define TC_STATE_MARK "#end"
enum { TC_STATE_FD = 9, TC_STATE_MAX = 4 << 20 };

/* A memory file with the last state, at its beginning, for one command, which appends the new
 * one. *ret_old: the size of the last state. -1 with errno. */
int tc_shell_state_open(off_t *ret_old);
/* The command has ended: closes its file. Its state is the last one if it is complete. */
void tc_shell_state_close(int fd, off_t old);

#endif
