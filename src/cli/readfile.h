/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A whole text file. */
#ifndef TC_CLI_READFILE_H
#define TC_CLI_READFILE_H

/* The text up to the first NUL; owned, NULL with errno. */
char *tc_cli_read_file(const char *path);

#endif
