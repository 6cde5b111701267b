/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/privileges.h"

#include <errno.h>
#include <sys/prctl.h>

int tc_empty_bounding_set(void)
{
    int cap = 0;
    while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    return errno == EINVAL && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0 ? 0 : -1;
}

int tc_fix_limit(int which, rlim_t value)
{
    const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit((__rlimit_resource_t)which, &limit);
}
