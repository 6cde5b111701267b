/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only header of this folder for the command line. */
#ifndef TC_SPAWN_RUN_H
#define TC_SPAWN_RUN_H

/* Runs a program as in spawn/spawn.h, with these arguments, and waits; its output goes to standard
 * error. Returns its exit code; 128 plus the number of the signal that ended it; or -1 with errno:
 * not started (EPERM: a tool may have written it). Forks, so the caller must have one thread. */
int tc_spawn_run(const char *name, const char *const *words);

/* In a new child of a process with one thread: becomes the program at this absolute path, without
 * arguments, with standard input from `in`. Returns only on failure, as errno (EPERM: a tool may
 * have written it). */
int tc_spawn_turn_into(const char *path, int in);

#endif
