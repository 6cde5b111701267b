/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/beside.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/root.h"
#include "base/self.h"
#include "base/strv.h"

static char *find(const char *name)
{
    static const char *const places[] = {"", "../libexec/toolcage/"};
    const char *self = tc_self_path(), *slash = self ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash && i < TC_COUNT(places); i++) {
        _autofree_ char *path = tc_format("%.*s/%s%s", (int)(slash - self), self, places[i], name);
        if (path && access(path, F_OK) == 0)
            return TAKE(path);
    }
    return NULL;
}

int tc_beside(const char *name, const char **ret_lack)
{
    struct stat st;
    _autofree_ char *path = find(name);
    _autofd_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    bool seen = fd >= 0 && fstat(fd, &st) == 0;
    *ret_lack = !path   ? "is not installed beside toolcage"
                : !seen ? "cannot be opened"
                        : tc_program_unsafe(&st);
    return *ret_lack ? -1 : TAKE_FD(fd);
}
