/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/show/say.h"

/* One step; -1 when a link or something else has that name. Takes `at`. */
static int enter(int at, const char *name)
{
    int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), saved = errno;
    if (at >= 0)
        (void)close(at);
    return errno = saved, next;
}

int tc_replace_directory(const char *path)
{
    _autofree_ char *names = strdup(path);
    char *rest = names;
    int at = AT_FDCWD;
    if (!names)
        return errno = ENOMEM, -1;
    if (path[0] == '/') { /* with a slash behind it a link would be followed */
        for (size_t n = strlen(names); n > 1 && names[n - 1] == '/'; n--)
            names[n - 1] = '\0';
        return enter(at, names);
    }
    for (char *name; (name = strsep(&rest, "/"));)
        if (*name && (at = enter(at, name)) < 0)
            return -1;
    return at >= 0 ? at : (errno = ENOENT, -1);
}

int tc_replace_begin(int at, mode_t mode, char ret_name[static TC_REPLACE_NAME])
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -1;
    (void)snprintf(ret_name, TC_REPLACE_NAME, ".toolcage-%016" PRIx64, number);
    return openat(at, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int tc_replace(int at, const char *name, const char *bytes, size_t length)
{
    char temporary[TC_REPLACE_NAME];
    int fd = tc_replace_begin(at, 0666, temporary);
    if (fd < 0)
        return -1;
    int rc = tc_cli_write(fd, bytes, length), saved = errno;
    if (close(fd) && !rc) { /* where the room is counted late */
        saved = errno;
        rc = -1;
    }
    if (!rc && !renameat(at, temporary, at, name))
        return 0;
    saved = rc ? saved : errno;
    (void)unlinkat(at, temporary, 0);
    return errno = saved, -1;
}
