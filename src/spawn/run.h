/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * For the command line, which sees nothing else of this folder. */
#ifndef TC_SPAWN_RUN_H
#define TC_SPAWN_RUN_H

/* Runs the program as spawn/spawn.h says, with these words after its name, to its end; what it
 * prints goes to standard error. Its exit code, or 128 and the number of the signal that ended it;
 * -1 with errno: it could not be started (EPERM: a tool may have written it). It forks, so the
 * caller has one thread. */
int tc_spawn_run(const char *name, const char *const *words);

#endif
