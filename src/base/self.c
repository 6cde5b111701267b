/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/self.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

char *tc_self_now(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return n < 0 ? NULL : strndup(path, (size_t)n);
}

const char *tc_self_path(void)
{
    static char *path;
    if (!path)
        path = tc_self_now();
    return path;
}

char *tc_self_beside(const char *name)
{
    _autofree_ char *self = tc_self_now(), *dir = self ? tc_path_parent(self) : NULL;
    return dir ? tc_path_join(dir, name) : NULL;
}
