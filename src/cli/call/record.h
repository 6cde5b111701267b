/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Small files that the command line keeps for its user, whole or not at all. */
#ifndef TC_CLI_CALL_RECORD_H
#define TC_CLI_CALL_RECORD_H

#include "cli/cli.h"

/* $VARIABLE/toolcage/NAME, or ~/FALLBACK/toolcage/NAME; owned. NULL with errno ENOENT when neither
 * is an absolute path. */
char *tc_user_path(const char *variable, const char *fallback, const char *name);

/* The whole file as text, "" when there is none; owned. NULL with why not: one that others can
 * write proves nothing. */
char *tc_record_read(const char *path, const char **ret_what);
/* With all that lead to it, for this user alone. 0, or -1 with errno. `path` is as before. */
int tc_record_directory(char *path);
/* The new one beside the old, then renamed over it: readers see one or the other. 0, or -1 with
 * errno. */
int tc_record_write(const char *record, const char *text, size_t length);
/* The record of this name in the user's state directory, which is made. As above. */
int tc_record_keep(const char *name, const char *text, size_t length);

#endif
