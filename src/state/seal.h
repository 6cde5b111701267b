/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Proves that toolcage wrote something in this user's state: a seal is the HMAC-SHA256 of a
 * description, with a key stored next to it that other users cannot read. */
#ifndef TC_STATE_SEAL_H
#define TC_STATE_SEAL_H

#include <stdbool.h>

#include "base/digest.h"

/* Makes the seal of the text, and the key of the directory `dir` if it is missing. False: errno. */
bool tc_seal(const char *dir, const char *text, char out[TC_DIGEST_SIZE]);
/* Is this the seal of the text? `seal` is TC_DIGEST_SIZE - 1 characters, NUL-terminated or not. */
bool tc_seal_holds(const char *dir, const char *text, const char *seal);

/* Opens a regular file of this user that other users cannot write; follows no link. -1 with
 * errno. */
int tc_open_own(const char *path, int flags);

/* Large files stored in the user's state, valid until a process writes to them: a sealed record
 * next to each identifies the file and its ctime. That is quick to check at each use, while reading
 * the whole file would take longer than it saves. */

/* Is the file at `path` the stored one, unchanged? */
bool tc_sealed_holds(const char *path);
/* Opens an unnamed file in the path's directory, for writing; creates the directory. -1 with
 * errno. */
int tc_sealed_open(const char *path);
/* Gives the file this name, replacing another one. The directory keeps at most `most` files, the
 * newest ones. False: it is not stored. The data is not flushed to the disk, so the path must name
 * this boot of the host: after the next boot the file may be incomplete. */
bool tc_sealed_put(int fd, const char *path, unsigned most);
/* Removes the file and its record. */
void tc_sealed_drop(const char *path);

#endif
