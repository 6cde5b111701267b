/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_TESTS_TORTURE_DESCRIPTORS_H
#define TC_TESTS_TORTURE_DESCRIPTORS_H

#include <dirent.h>

/* How many this process has, always with the same few that counting needs. */
static inline int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

#endif
