/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A process of its own around a program of others: it outlives who started it for as long as it
 * takes to end that program, with all that the program started. */
#ifndef TC_IMAGE_KEEPER_H
#define TC_IMAGE_KEEPER_H

#include <sys/types.h>

/* In a new process, the child of `parent`: starts the program by become(), which does not return,
 * and ends as the program does. SIGTERM, SIGINT and SIGHUP, and the end of `parent`, end the
 * program: by SIGTERM, so that it can clean up; 10 s later all that is left, by SIGKILL. */
_Noreturn void tc_keeper_run(pid_t parent, void (*become)(const void *ud), const void *ud);

#endif
