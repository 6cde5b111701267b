/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The whole of a file or a stream, read and written. */
#ifndef TC_CLI_SHOW_IO_H
#define TC_CLI_SHOW_IO_H

#include <stddef.h>

/* The text up to the first NUL; owned, NULL with errno. */
char *tc_cli_read_file(const char *path);

/* All bytes of a file, of standard input where it is "-", and a NUL; owned. NULL with errno, EFBIG
 * where there are more than `most`. */
char *tc_cli_read_input(const char *path, size_t most, size_t *ret_length);

/* All of it to a descriptor, waiting where it is full; 0, or -1 with errno. */
int tc_cli_write(int fd, const char *bytes, size_t length);

#endif
