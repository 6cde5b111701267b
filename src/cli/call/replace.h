/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files at paths that the user names, where a tool may have left anything under that name: a new
 * file beside the old one, renamed over it once it is whole. A link there is replaced, never
 * followed, and readers see the old file or the new one. */
#ifndef TC_CLI_CALL_REPLACE_H
#define TC_CLI_CALL_REPLACE_H

#include <stddef.h>
#include <sys/types.h>

enum { TC_REPLACE_NAME = sizeof(".toolcage-0123456789abcdef") };

/* An O_PATH descriptor of the directory, or -1 with errno. It is not a link itself, and nothing in
 * a relative path is: a tool that works here could have made that. */
int tc_replace_directory(const char *path);

/* A new file in the directory `at` to write to; *ret_name is its name until it is renamed. -1 with
 * errno. */
int tc_replace_begin(int at, mode_t mode, char ret_name[static TC_REPLACE_NAME]);

/* The whole of it. 0, or -1 with errno and the old file as it was. */
int tc_replace(int at, const char *name, const char *bytes, size_t length);

/* Records: small files that the command line keeps for its user, written in the same way. */

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
