/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A whole text file, and what somebody hands in. */
#ifndef TC_CLI_SHOW_READFILE_H
#define TC_CLI_SHOW_READFILE_H

#include <stddef.h>

/* The text up to the first NUL; owned, NULL with errno. */
char *tc_cli_read_file(const char *path);

/* All bytes of a file, of standard input where it is "-", and a NUL; owned. NULL with errno, EFBIG
 * where there are more than `most`. */
char *tc_cli_read_input(const char *path, size_t most, size_t *ret_length);

#endif
