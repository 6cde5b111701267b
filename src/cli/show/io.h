/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads and writes whole files and streams. */
#ifndef TC_CLI_SHOW_IO_H
#define TC_CLI_SHOW_IO_H

#include <stddef.h>

/* The text up to the first NUL; owned, NULL with errno. */
char *tc_cli_read_file(const char *path);

/* All bytes of a file, or of standard input for "-", and a NUL; owned. NULL with errno, EFBIG if
 * there are more than `most`. */
char *tc_cli_read_input(const char *path, size_t most, size_t *ret_length);

/* Writes all bytes, waiting while the fd is full; 0, or -1 with errno. */
int tc_cli_write(int fd, const char *bytes, size_t length);

#endif
