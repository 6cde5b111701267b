/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writes files at user-specified paths where a tool may have created anything under that name. A
 * temporary file is written next to the old file and renamed over it. A link there is replaced, not
 * followed, and readers see either the old or the new file. */
#ifndef TC_CLI_CALL_REPLACE_H
#define TC_CLI_CALL_REPLACE_H

#include <stddef.h>
#include <sys/types.h>

enum { TC_REPLACE_NAME = sizeof(".toolcage-0123456789abcdef") };

/* An O_PATH fd of the directory, or -1 with errno. The last component must not be a link; in a
 * relative path no component may be a link, because a tool working here could have created it. */
int tc_replace_directory(const char *path);
/* The same, but no component of any path may be a link. */
int tc_replace_directory_strict(const char *path);

/* A new name for a temporary file. 0, or -1 with errno. */
int tc_replace_name(char ret_name[static TC_REPLACE_NAME]);
/* Creates a temporary file in the directory `at`; *ret_name is its name until the rename. -1 with
 * errno. */
int tc_replace_begin(int at, mode_t mode, char ret_name[static TC_REPLACE_NAME]);

/* Replaces a whole file. 0, or -1 with errno and the old file unchanged. */
int tc_replace(int at, const char *name, const char *bytes, size_t length);

/* Records: small files that the command line stores for its user, written in the same way. */

/* $VARIABLE/toolcage/NAME, or ~/FALLBACK/toolcage/NAME; owned. NULL with errno ENOENT if neither is
 * an absolute path. */
char *tc_user_path(const char *variable, const char *fallback, const char *name);

/* The whole file as text, "" if there is none; owned. NULL with the reason, also for a file that
 * other users can write. */
char *tc_record_read(const char *path, const char **ret_what);
/* Creates a directory and its parents, accessible only to this user. 0, or -1 with errno. `path` is
 * restored on return. */
int tc_record_directory(char *path);
/* Replaces a record. 0, or -1 with errno. */
int tc_record_write(const char *record, const char *text, size_t length);
/* Replaces the record of this name in the user's state directory, which is created if missing. 0,
 * or -1 with errno. */
int tc_record_keep(const char *name, const char *text, size_t length);

#endif
