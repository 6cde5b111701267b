/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The receiving end of tc_secret_hand_over(): reads the config that the command line passes to a
 * companion program. */
#ifndef TC_MCP_HANDOFF_H
#define TC_MCP_HANDOFF_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads JSON text of at most `most` bytes from `fd` and closes it. The text may contain keys, so it
 * is wiped. Owned; NULL: no valid config. */
static inline json_t *tc_handoff_config(int fd, size_t most)
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

#endif
