/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whether something in this user's state was put there by toolcage: a seal is the HMAC-SHA256 of a
 * text that says what it is, under a key that lies beside it and that nobody else can read. */
#ifndef TC_STATE_SEAL_H
#define TC_STATE_SEAL_H

#include <stdbool.h>

#include "base/digest.h"

/* The seal of the text; makes the key of the directory `dir` where there is none. False: errno. */
bool tc_seal(const char *dir, const char *text, char out[TC_DIGEST_SIZE]);
/* Is it that? `seal` is TC_DIGEST_SIZE - 1 characters, ended or not. */
bool tc_seal_holds(const char *dir, const char *text, const char *seal);

/* A regular file of this user's that nobody else can write; no link. -1 with errno. */
int tc_open_own(const char *path, int flags);

/* Large files that are kept in the user's state and used for as long as nobody has written to them:
 * a record beside each says under a seal which file it is, and when it last changed. That much can
 * be asked whenever one is used, where reading all of it would take longer than what it saves. */

/* Is what stands at `path` what was put there, unchanged? */
bool tc_sealed_holds(const char *path);
/* A file without a name beside it, for writing; -1 with errno. Makes the directory. */
int tc_sealed_open(const char *path);
/* Gives the file that name, in place of what has it. Of its directory's no more than `most` stay,
 * the oldest go first. False: it is not kept. What it holds is not waited for to be on the disk, so
 * the path has to name this boot of the machine: what the next one finds there may be torn. */
bool tc_sealed_put(int fd, const char *path, unsigned most);
/* What is there cannot be used. */
void tc_sealed_drop(const char *path);

#endif
