/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/privileges.h"

#include <errno.h>
#include <sys/prctl.h>

#include "base/sys.h"

/* The running kernel determines how many there are, not the build's headers: the first unknown
 * one ends the loop. -1 with EPERM for a process that may not drop a capability of the set. */
static int empty_bounding_set(void)
{
    int cap = 0;
    while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    return errno == EINVAL && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0 ? 0 : -1;
}

int tc_drop_capabilities(enum tc_bounding bounding)
{
    if (empty_bounding_set() < 0 && bounding == TC_BOUNDING_EMPTIED)
        return -1;
    return tc_clear_capabilities(); /* clears the ambient set, too */
}

int tc_fix_limit(int which, rlim_t value)
{
    const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit((__rlimit_resource_t)which, &limit);
}
