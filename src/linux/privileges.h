/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a process gives up for good, before it does what may go wrong. No heap, no lock: usable
 * between fork and exec. */
#ifndef TC_LINUX_PRIVILEGES_H
#define TC_LINUX_PRIVILEGES_H

#include <sys/resource.h>

enum tc_bounding {
    TC_BOUNDING_EMPTIED, /* fails for who may not empty the bounding set */
    TC_BOUNDING_IF_MAY,  /* who may not has nothing of it either, with no_new_privs */
};
/* No capability is left, and none that an exec could bring back. 0, or -1 with errno. */
int tc_drop_capabilities(enum tc_bounding bounding);
/* Soft and hard limit `which` (RLIMIT_…) at once. 0, or -1 with errno. */
int tc_fix_limit(int which, rlim_t value);

#endif
