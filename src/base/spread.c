/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/spread.h"

#include <sched.h>

void tc_spread(pid_t pid)
{
    cpu_set_t all, others;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) && sched_setaffinity(pid, sizeof(others), &others) == 0)
        (void)sched_setaffinity(pid, sizeof(all), &all);
}
