/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

char *tc_cli_read_file(const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    /* O_NONBLOCK: a named pipe at this path must not block */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    ssize_t n = in ? getdelim(&bytes, &size, '\0', in) : -1;
    bool bad = !in || (n < 0 && ferror(in));
    if (in)
        (void)fclose(in);
    else if (fd >= 0)
        (void)close(fd);
    if (!bad)
        return n < 0 ? (free(bytes), strdup("")) : bytes;
    free(bytes);
    return NULL;
}

static char *read_all(int fd, size_t most, size_t *ret_length)
{
    size_t length = 0, size = 1 << 14;
    char *all = malloc(size);
    while (all) {
        ssize_t n = read(fd, all + length, size - length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        length += n > 0 ? (size_t)n : 0;
        all[length] = '\0';
        if (!n && length <= most)
            return *ret_length = length, all;
        if (n <= 0 || length > most) {
            int why = n < 0 ? errno : EFBIG;
            free(all);
            return errno = why, NULL;
        }
        if (length + 1 < size)
            continue;
        size *= 2;
        char *more = realloc(all, size);
        if (!more)
            free(all);
        all = more;
    }
    return NULL;
}

char *tc_cli_read_input(const char *path, size_t most, size_t *ret_length)
{
    if (!strcmp(path, "-"))
        return read_all(STDIN_FILENO, most, ret_length);
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? NULL : read_all(fd, most, ret_length);
}

int tc_cli_write(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}
