/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One line on standard error that shows a long job of a program. A timer (SIGALRM) redraws it, so a
 * step costs two stores, and a job that blocks in a system call needs no step. For programs with
 * one thread, never for the library. Nothing is written before a second has passed, if standard
 * error is not a terminal that supports escape sequences, in the background, or with NO_COLOR. */
#ifndef TC_PROGRESS_PROGRESS_H
#define TC_PROGRESS_PROGRESS_H

#include <stdint.h>

/* No line from now on: the user has chosen other output, such as JSON. */
void tc_progress_quiet(void);
/* Begins a job, and ends the job before it. `what` is escaped for the terminal. `unit` (borrowed)
 * is counted in steps; NULL: the line shows only the time. */
void tc_progress_start(const char *what, const char *unit);
/* How much is done; `total` 0: not known. Does nothing without a job. */
void tc_progress_step(int64_t done, int64_t total);
/* Ends the job and erases the line. Also called before any other message. Keeps errno. */
void tc_progress_end(void);

#endif
