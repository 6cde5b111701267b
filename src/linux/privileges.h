/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a process gives up for good, before it does what may go wrong. No heap, no lock: usable
 * between fork and exec. */
#ifndef TC_LINUX_PRIVILEGES_H
#define TC_LINUX_PRIVILEGES_H

#include <sys/resource.h>

/* Of the capabilities that an exec could bring back none is left. How many there are, the running
 * kernel says, not the headers of the build: the first that it does not know ends them. -1 with
 * EPERM for who may not drop what is in the set. */
int tc_empty_bounding_set(void);
/* Soft and hard limit `which` (RLIMIT_…) at once. 0, or -1 with errno. */
int tc_fix_limit(int which, rlim_t value);

#endif
