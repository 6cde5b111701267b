/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "trust/trusted.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "state/places.h"
#include "state/seal.h"

enum { RECORD_MAX = 1 << 20 };

const char *tc_trusted_line(const char *text, const char *path)
{
    size_t length = strlen(path);
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n'), *space = memchr(line, ' ', (size_t)(end - line));
        if (space && (size_t)(end - space - 1) == length && !memcmp(space + 1, path, length))
            return line;
        line = *end ? end + 1 : end;
    }
    return NULL;
}

bool tc_trusted_digest(const char *line, const char *digest)
{
    size_t length = strlen(digest);
    return !strncmp(line, digest, length) && line[length] == ' ';
}

char *tc_trusted_place(void)
{
    _autofree_ char *state = NULL;
    return tc_state_directory(&state) && state ? tc_path_join(state, "trust") : NULL;
}

bool tc_trusted(const char *path, const char *digest)
{
    _autofree_ char *place = tc_trusted_place();
    _autofd_ int fd = place ? tc_open_own(place, O_RDONLY) : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || st.st_size > RECORD_MAX)
        return false;
    size_t size = (size_t)st.st_size;
    _autofree_ char *text = calloc(1, size + 1);
    if (!text || read(fd, text, size) != (ssize_t)size)
        return false;
    const char *line = tc_trusted_line(text, path);
    return line && tc_trusted_digest(line, digest);
}
