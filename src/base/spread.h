/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which processor a new process begins on. */
#ifndef TC_BASE_SPREAD_H
#define TC_BASE_SPREAD_H

#include <sys/types.h>

/* Lets a process that was just made begin on another processor than the caller's, which has a
 * millisecond of work to do yet. Kernels that pack virtual processors leave both on one while
 * another is idle, and the one that waits is the longer one. Where there is one processor, or this
 * is forbidden, it changes nothing; afterwards the process may run wherever the caller may. */
void tc_spread(pid_t pid);

#endif
