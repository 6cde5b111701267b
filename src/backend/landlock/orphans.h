/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Ending what a tool started where there is no PID namespace: whoever is orphaned becomes a child
 * of the supervisor, which asked for that. Runs in the supervisor: no allocation. */
#ifndef TC_LANDLOCK_ORPHANS_H
#define TC_LANDLOCK_ORPHANS_H

#include <stdbool.h>

/* Can it be done here: does the kernel list a process's children? */
bool tc_orphans_known(void);
/* From now on orphans come to this process; 0, or -1. */
int tc_orphans_adopt(void);
/* Sends a signal to the children. */
void tc_orphans_signal(int sig);
/* Kills and reaps until there is no child any more; false when some would not end. */
bool tc_orphans_end(void);

#endif
