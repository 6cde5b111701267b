/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The processes of one command, found in /proc by PID 1. */
#ifndef TC_LIVE_INSIDE_FAMILY_H
#define TC_LIVE_INSIDE_FAMILY_H

#include <sys/types.h>

/* Sends the signal to the command's process, which leads a session, to the members of that session
 * and to their living descendants. A process that left the session and whose parent has ended is
 * not found: it stays until the session of the cage ends. SIGKILL is repeated until none is found,
 * a limited number of times. Allocates nothing. */
void tc_family_signal(pid_t leader, int sig);

#endif
