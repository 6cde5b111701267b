/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/handed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *tc_handed_config(int fd, size_t most)
{
    char *text = malloc(most);
    ssize_t n = text ? pread(fd, text, most, 0) : -1;
    json_t *config = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
    if (n > 0)
        explicit_bzero(text, (size_t)n);
    free(text);
    (void)close(fd);
    return config;
}
