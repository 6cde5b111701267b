/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int tc_execute(const char *const *programs, char *const *argv, char *const *envp)
{
    int worst = ENOENT;
    for (const char *const *path = programs; *path; path++) {
        struct stat st;
        if (stat(*path, &st) < 0) {
            worst = errno == ENOENT || errno == ENOTDIR ? worst : errno;
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            worst = EACCES;
            continue;
        }
        /* not execve: the filter notifies the helper of that call */
        (void)execveat(AT_FDCWD, *path, argv, envp, 0);
        if (errno != ENOENT || !*(path + 1))
            worst = errno;
        if (errno != EACCES && errno != ENOENT)
            break;
    }
    return worst;
}

int tc_enter_first(const char *const *directories)
{
    for (const char *const *d = directories; *d; d++) {
        if (chdir(*d) == 0)
            return 0;
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return -1; /* it exists: starting elsewhere would surprise */
    }
    return -1;
}
