/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Gives up privileges irrevocably, before a process does something risky. No heap, no lock:
 * usable between fork and exec. */
#ifndef TC_LINUX_PRIVILEGES_H
#define TC_LINUX_PRIVILEGES_H

#include <sys/resource.h>

enum tc_bounding {
    TC_BOUNDING_EMPTIED, /* fails if the process may not empty the bounding set */
    TC_BOUNDING_IF_MAY,  /* ignores that: with no_new_privs the bounding set is useless to a process
                            without capabilities */
};
/* Drops all capabilities, and those that an exec could restore. 0, or -1 with errno. */
int tc_drop_capabilities(enum tc_bounding bounding);
/* Soft and hard limit `which` (RLIMIT_…) at once. 0, or -1 with errno. */
int tc_fix_limit(int which, rlim_t value);

#endif
