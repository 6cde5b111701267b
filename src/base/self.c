/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/self.h"

#include <limits.h>
#include <unistd.h>

const char *tc_self_path(void)
{
    static char path[PATH_MAX];
    if (!path[0]) {
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[n < 0 ? 0 : n] = '\0';
    }
    return path[0] ? path : NULL;
}
